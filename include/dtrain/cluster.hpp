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
    Launcher launcher = Launcher::none;
    int rank = 0;
    int size = 1;
    int local_rank = 0;
    int local_size = 1;
    int node_rank = 0;
    int nodes = 1;
    std::string job_id = {};              ///< unique for the job on these nodes; never empty
    std::vector<std::string> hosts = {};  ///< in node rank order; empty if no source names them
    /// Number of ranks on each node, with ranks numbered node by node; empty if unknown.
    std::vector<int> ranks_of_node = {};
    friend bool operator==(const Identity&, const Identity&) = default;
};

/// Distinguishes jobs on one node if the launcher sets no job name in the environment.
struct ProcessIds {
    long process = 0;
    long parent = 0;  ///< hydra: its proxy, one per job and node

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

struct HostSlots {
    std::string host = {};
    int slots = 1;
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

/// First port of a job that could not ask the nodes for free ones: a hash of the job id in 10000..29999,
/// below the kernel's ephemeral range, with room for `count` ports.
/// @throws UsageError if `count` is not in 0..10000.
int base_port(std::string_view job_id, int count);

/// The addresses of a job's ranks and its rendezvous addresses.
struct Endpoints {
    std::vector<std::string> trainers = {};  ///< "host:port", by rank
    std::string paddle_master = {};          ///< "host:port" of rank 0's store, PADDLE_MASTER
    std::string master_addr = {};            ///< MASTER_ADDR of torch
    int master_port = 0;                     ///< MASTER_PORT of torch
    friend bool operator==(const Endpoints&, const Endpoints&) = default;
};

/// Endpoints for ranks that are numbered node by node: `first_port` + local rank on each node; the two
/// rendezvous ports follow those of node 0.
/// @throws UsageError if the lists differ in length or a port would exceed 65535.
Endpoints consecutive_endpoints(const std::vector<std::string>& hosts, const std::vector<int>& ranks_of_node,
                                int first_port);

/// The role of a rank in its job.
enum class Role {
    trainer,       ///< of a collective job
    server,        ///< holds the parameters of a parameter-server job
    worker,        ///< trains in a parameter-server job
    heter_worker,  ///< runs a later stage of training, on another device
};

/// "heter_worker".
std::string to_string(Role role);

/// Name of a rank's log file from its index in its role: "workerlog.3", "serverlog.0", "heterlog.1".
std::string log_name(Role role, int index);

/// A stage of heterogeneous workers; the workers themselves are stage 1.
struct HeterStage {
    std::string device = "gpu";
    std::vector<std::string> endpoints = {};  ///< "host:port"
    friend bool operator==(const HeterStage&, const HeterStage&) = default;
};

/// The addresses of a parameter-server job, each list in the order of the ranks in that role. MPI ranks are
/// numbered servers first, then workers, then stage by stage.
struct ServerJob {
    std::vector<std::string> servers = {};  ///< "host:port"
    std::vector<std::string> workers = {};
    std::vector<HeterStage> stages = {};
    std::string gloo_endpoint = {};  ///< rendezvous address of Gloo's ranks, on the first server's host
    friend bool operator==(const ServerJob&, const ServerJob&) = default;
};

/// Role, index and endpoint of a rank in a parameter-server job.
struct Member {
    Role role = Role::trainer;
    int index = 0;  ///< within its role; heterogeneous workers are numbered across all stages
    int stage = 0;  ///< 1 for workers, 2 and more for heterogeneous workers, 0 for servers
    std::string endpoint = {};
    friend bool operator==(const Member&, const Member&) = default;
};

/// The member with this MPI rank.
/// @throws UsageError if the job has fewer ranks.
Member member_of(const ServerJob& job, int rank);

/// What is passed to a rank's program.
struct ProgramContext {
    Identity identity = {};
    Endpoints endpoints = {};
    std::optional<ServerJob> servers = {};  ///< of a parameter-server job
    bool rpc = false;          ///< --run_mode rpc: also sets the variables of paddle.distributed.rpc
    std::string backend = {};  ///< PADDLE_DISTRI_BACKEND; "": nccl with devices, else gloo
    /// Devices as indices into the visible list, per rank of the whole job if known, else of this node; empty
    /// lists on CPU.
    std::vector<std::vector<int>> devices_of_rank = {};
    std::vector<int> selected_devices = {};  ///< indices of this rank's devices in the visible list
    /// CUDA_VISIBLE_DEVICES of a program with devices; "": it stays unchanged.
    std::string cuda_visible_devices = {};
    int threads = 1;                   ///< OMP_NUM_THREADS if the user set none
    std::string log_dir = {};          ///< absolute
    std::string gloo_fs_path = {};     ///< a folder that only this job uses, for PADDLE_GLOO_FS_PATH
    std::string backup_env_path = {};  ///< PADDLE_BACKUP_ENV_PATH if such a file was written, else empty
    std::string pod_name = {};         ///< six letters, one per node
};

/// The complete environment of a rank's program: `inherited` plus Paddle's variables of the rank's mode (both
/// the 2.0-2.3 and the 2.4-3.x names), torch's, OMP_NUM_THREADS and, with devices, CUDA_DEVICE_ORDER and
/// CUDA_VISIBLE_DEVICES; servers and CPU workers in a job with GPUs see none; proxy variables and dtrain's
/// internal variables are removed, except the job token. Lists too long for exec (over 120 KiB) are left out.
/// What the MPI launcher and the scheduler set stays.
Environment program_environment(const Environment& inherited, const ProgramContext& context);

/// The variables that a PaddleCloud (Kubernetes) platform sets for the launcher on each node.
struct PaddleCloud {
    std::vector<std::string> nodes = {};  ///< PADDLE_TRAINERS: addresses, in node rank order
    std::string pod_ip = {};              ///< POD_IP: this node's own address
    int node_rank = 0;                    ///< PADDLE_TRAINER_ID, which is the index of the node here
    int ports_per_node = 0;               ///< TRAINER_PORTS_NUM
    std::optional<int> first_port = {};   ///< PADDLE_PORT
    /// DISTRIBUTED_TRAINER_ENDPOINTS, ports_per_node for each node; or empty
    std::vector<std::string> endpoints = {};
    friend bool operator==(const PaddleCloud&, const PaddleCloud&) = default;
};

/// None unless PADDLE_TRAINERS, POD_IP, PADDLE_TRAINER_ID and TRAINER_PORTS_NUM are all set and
/// PADDLE_TRAINERS_NUM is set to other than 1, which is Paddle's own condition.
/// @throws UsageError naming the variable that contradicts the others.
std::optional<PaddleCloud> paddle_cloud(const Environment& environment);

/// "host:port" of every rank, node by node: the platform's endpoints, else its port, or port 6170 if it gives
/// none or too few ports.
/// @throws UsageError if the platform has fewer endpoints than `ranks_per_node` on a node.
std::vector<std::string> cloud_endpoints(const PaddleCloud& cloud, int ranks_per_node);

}  // namespace dtrain::cluster
