// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

/// Who am I in the job: what launchers and schedulers tell a process through its environment.
namespace dtrain::cluster {

enum class Launcher { none, open_mpi, hydra, slurm, pals, dtrain };

/// "Open MPI", "MPICH/Intel MPI (hydra)", "Slurm", ...
std::string to_string(Launcher launcher);

/// A process' place in its job.
struct Identity {
    Launcher launcher = Launcher::none;
    int rank = 0;
    int size = 1;
    int local_rank = 0;
    int local_size = 1;
    int node_rank = 0;
    int nodes = 1;
    std::string job_id;              ///< unique for the job on these nodes; never empty
    std::vector<std::string> hosts;  ///< node by node, in node rank order; empty when nothing names them
    friend bool operator==(const Identity&, const Identity&) = default;
};

/// Reads the first contract that applies: DTRAIN_*, Open MPI 4.1/5.0, Slurm, hydra (MPICH, Intel MPI), PALS
/// (Cray). Without any, a job of one rank.
/// @throws UsageError naming the variable when a contract contradicts itself (rank >= size, no number).
Identity identify(const Environment& environment);

/// Slurm's host list form: "n[01-03,7]-ib,login2" -> n01-ib n02-ib n03-ib n7-ib login2.
/// @throws UsageError quoting the text when brackets or ranges are malformed or it names over 1,000,000 hosts.
std::vector<std::string> expand_nodelist(std::string_view nodelist);

struct HostSlots {
    std::string host;
    int slots = 1;
    friend bool operator==(const HostSlots&, const HostSlots&) = default;
};

/// Reads an Open MPI hostfile or a PBS nodefile: "host", "host slots=N", "host:N"; '#' comments; repeated hosts
/// add up; order of first appearance.
/// @throws UsageError naming the line number and text.
std::vector<HostSlots> parse_hostfile(std::string_view text);

/// Writes what parse_hostfile and mpirun read.
std::string format_hostfile(const std::vector<HostSlots>& hosts);

/// First port of a job that could not ask the nodes for free ones: a hash of the job id in 10000..29999, below
/// the kernel's ephemeral range, leaving `count` ports after it.
int base_port(std::string_view job_id, int count);

/// The addresses of a job's ranks and its rendezvous points.
struct Endpoints {
    std::vector<std::string> trainers;  ///< "host:port" by rank
    std::string paddle_master;          ///< "host:port": rank 0's store for PADDLE_MASTER
    std::string master_addr;            ///< torch's MASTER_ADDR
    int master_port = 0;                ///< torch's MASTER_PORT
    friend bool operator==(const Endpoints&, const Endpoints&) = default;
};

/// Endpoints for ranks that are numbered node by node, `first_port` + local rank on each node; the two
/// rendezvous ports follow those of node 0.
Endpoints consecutive_endpoints(const std::vector<std::string>& hosts, const std::vector<int>& ranks_of_node,
                                int first_port);

/// What a rank's program is told besides its identity.
struct ProgramContext {
    Identity identity;
    Endpoints endpoints;
    /// Per rank of the whole job where known, else of this node: the devices as positions in the visible
    /// list; empty lists on CPU.
    std::vector<std::vector<int>> devices_of_rank;
    std::vector<int> selected_devices;  ///< this rank's positions in the visible list
    std::string cuda_visible_devices;   ///< what the program shall see; used only when there are devices
    int threads = 1;                    ///< OMP_NUM_THREADS when the user set none
    std::string log_dir;                ///< absolute
    std::string pod_name;               ///< six letters, one per node
};

/// The whole environment of a rank's program: `inherited` with the Paddle variables of the collective mode
/// (both the 2.0-2.3 and the 2.4-3.x names), torch's, OMP_NUM_THREADS and CUDA_DEVICE_ORDER set, proxies and
/// dtrain's own internal variables removed. Pure.
Environment program_environment(const Environment& inherited, const ProgramContext& context);

}  // namespace dtrain::cluster
