// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/environment.hpp>

/// The identity of a process in its job, as launchers and schedulers describe it in its environment.
namespace dtrain::cluster {

/// What started the processes of a job.
enum class Launcher { none, open_mpi, hydra, slurm, pals, dtrain };

/// "Open MPI", "MPICH/Intel MPI (hydra)", "Slurm", ...
std::string to_string(Launcher launcher);

/// A process' rank, node and size information in its job.
///
/// mpirun and mpiexec.hydra do not number the nodes: `node_rank` and `nodes` are then derived from the local
/// rank and size. `ranks_of_node` is empty if this rank can tell that the result is a guess (ranks assigned
/// round robin over the nodes, or nodes with different numbers of ranks). Another rank may be able to tell
/// when this one is not; so on several nodes without `hosts`, which are filled in only if a list of nodes
/// agrees, the ranks must compare their results.
struct Identity {
    Launcher launcher = Launcher::none;   ///< what started this process
    int rank = 0;                         ///< of this process, from 0
    int size = 1;                         ///< number of ranks of the job
    int local_rank = 0;                   ///< of this process among those of its node, from 0
    int local_size = 1;                   ///< number of ranks on this node
    int node_rank = 0;                    ///< number of this node, from 0
    int nodes = 1;                        ///< number of nodes
    std::string job_id = {};              ///< unique for the job on these nodes; never empty
    std::vector<std::string> hosts = {};  ///< in node rank order; empty if no source names them
    /// Number of ranks on each node, with ranks numbered node by node; empty if unknown.
    std::vector<int> ranks_of_node = {};
    friend bool operator==(const Identity&, const Identity&) = default;
};

/// Distinguishes jobs on one node if the launcher sets no job name in the environment.
struct ProcessIds {
    long process = 0;  ///< this process
    long parent = 0;   ///< hydra: its proxy, one per job and node

    /// Those of the calling process.
    static ProcessIds of_this_process();
};

/// Reads the first set of variables that applies: DTRAIN_*, Open MPI 4.1/5.0, hydra (MPICH, Intel MPI), a
/// Slurm step, PALS (Cray), bare PMI. MPI launchers take precedence over Slurm because they start their
/// daemons as Slurm steps, whose variables describe the daemons. If none applies, a job of one rank.
/// DTRAIN_JOB_ID and DTRAIN_HOSTS complete any of them.
/// @throws UsageError naming the variable if the variables contradict each other or are invalid (rank >=
/// size, not a number).
Identity identify(const Environment& environment,
                  const ProcessIds& processes = ProcessIds::of_this_process());

/// Expands Slurm's host list form: "n[01-03,7]-ib,login2" -> n01-ib n02-ib n03-ib n7-ib login2.
/// @throws UsageError quoting the text if brackets or ranges are malformed or it names over 1,000,000 hosts.
std::vector<std::string> expand_nodelist(std::string_view nodelist);

/// A host and the number of ranks that it has room for.
struct HostSlots {
    std::string host = {};  ///< its name or address
    int slots = 1;          ///< at least 1
    friend bool operator==(const HostSlots&, const HostSlots&) = default;
};

/// Reads an Open MPI hostfile or a PBS nodefile: "host", "host slots=N", "host:N"; '#' starts a comment;
/// slots of repeated hosts are added; hosts are in order of first appearance.
/// @throws UsageError naming the line number and text.
std::vector<HostSlots> parse_hostfile(std::string_view text);

/// Returns `identity` with hosts (and nodes, if only a list can tell) filled in from a list of the job's
/// nodes in the order in which they were given ranks, such as $PBS_NODEFILE. Returns it unchanged if the list
/// does not match: the ranks do not fill the slots in order and the number of nodes is not one that
/// `identity` is certain of, or the list has `own_host` at another position than this rank's node.
Identity with_hosts(Identity identity, const std::vector<HostSlots>& nodes, std::string_view own_host = {});

/// Formats hosts in the form that parse_hostfile and mpirun read.
std::string format_hostfile(const std::vector<HostSlots>& hosts);

}  // namespace dtrain::cluster
