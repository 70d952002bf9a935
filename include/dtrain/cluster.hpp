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
///
/// mpirun and mpiexec.hydra do not number the nodes: `node_rank` and `nodes` are then worked out from the
/// local rank and size. `ranks_of_node` is empty when this rank sees that this is a guess (ranks dealt round
/// robin over the nodes, or nodes with unequally many ranks). A rank may not see it although others do; so on
/// several nodes without `hosts`, which are filled in only where a list of nodes agrees, the ranks must ask
/// each other.
struct Identity {
    Launcher launcher = Launcher::none;
    int rank = 0;
    int size = 1;
    int local_rank = 0;
    int local_size = 1;
    int node_rank = 0;
    int nodes = 1;
    std::string job_id = {};              ///< unique for the job on these nodes; never empty
    std::vector<std::string> hosts = {};  ///< node by node, in node rank order; empty when nothing names them
    /// How many ranks each node runs, ranks being numbered node by node; empty when that is not known.
    std::vector<int> ranks_of_node = {};
    friend bool operator==(const Identity&, const Identity&) = default;
};

/// What tells jobs of one node apart where the launcher leaves no name of the job in the environment.
struct ProcessIds {
    long process = 0;
    long parent = 0;  ///< hydra: its proxy, one per job and node

    static ProcessIds of_this_process();
};

/// Reads the first contract that applies: DTRAIN_*, Open MPI 4.1/5.0, hydra (MPICH, Intel MPI), a Slurm step,
/// PALS (Cray), bare PMI. An MPI launcher comes before Slurm because it starts its daemons as Slurm steps,
/// whose variables describe the daemons. Without any contract, a job of one rank. DTRAIN_JOB_ID and
/// DTRAIN_HOSTS complete whichever applies.
/// @throws UsageError naming the variable when a contract contradicts itself (rank >= size, no number).
Identity identify(const Environment& environment,
                  const ProcessIds& processes = ProcessIds::of_this_process());

/// Slurm's host list form: "n[01-03,7]-ib,login2" -> n01-ib n02-ib n03-ib n7-ib login2.
/// @throws UsageError quoting the text when brackets or ranges are malformed or it names over 1,000,000
/// hosts.
std::vector<std::string> expand_nodelist(std::string_view nodelist);

struct HostSlots {
    std::string host = {};
    int slots = 1;
    friend bool operator==(const HostSlots&, const HostSlots&) = default;
};

/// Reads an Open MPI hostfile or a PBS nodefile: "host", "host slots=N", "host:N"; '#' comments; repeated
/// hosts add up; order of first appearance.
/// @throws UsageError naming the line number and text.
std::vector<HostSlots> parse_hostfile(std::string_view text);

/// `identity` with hosts (and nodes, where only a list can tell) filled in from a list of the job's nodes in
/// the order in which they were given ranks, such as $PBS_NODEFILE. Unchanged when the list does not fit: the
/// ranks neither fill the slots in order, nor are there as many nodes as `identity` is certain of, nor does
/// `own_host` stand where this rank is.
Identity with_hosts(Identity identity, const std::vector<HostSlots>& nodes, std::string_view own_host = {});

/// Writes what parse_hostfile and mpirun read.
std::string format_hostfile(const std::vector<HostSlots>& hosts);

/// First port of a job that could not ask the nodes for free ones: a hash of the job id in 10000..29999,
/// below the kernel's ephemeral range, leaving `count` ports after it.
/// @throws UsageError when `count` is not in 0..10000.
int base_port(std::string_view job_id, int count);

/// The addresses of a job's ranks and its rendezvous points.
struct Endpoints {
    std::vector<std::string> trainers = {};  ///< "host:port" by rank
    std::string paddle_master = {};          ///< "host:port": rank 0's store for PADDLE_MASTER
    std::string master_addr = {};            ///< torch's MASTER_ADDR
    int master_port = 0;                     ///< torch's MASTER_PORT
    friend bool operator==(const Endpoints&, const Endpoints&) = default;
};

/// Endpoints for ranks that are numbered node by node, `first_port` + local rank on each node; the two
/// rendezvous ports follow those of node 0.
/// @throws UsageError when the lists differ in length or a port would pass 65535.
Endpoints consecutive_endpoints(const std::vector<std::string>& hosts, const std::vector<int>& ranks_of_node,
                                int first_port);

/// The part that a rank plays in its job.
enum class Role {
    trainer,       ///< of a collective job
    server,        ///< holds the parameters of a parameter-server job
    worker,        ///< trains in a parameter-server job
    heter_worker,  ///< a later stage of training, on another device
};

/// "heter_worker".
std::string to_string(Role role);

/// The log of a rank by its number in its role: "workerlog.3", "serverlog.0", "heterlog.1".
std::string log_name(Role role, int index);

/// A stage of heterogeneous workers; the workers themselves are stage 1.
struct HeterStage {
    std::string device = "gpu";
    std::vector<std::string> endpoints = {};  ///< "host:port"
    friend bool operator==(const HeterStage&, const HeterStage&) = default;
};

/// The addresses of a parameter-server job, each list in the order of the ranks in that role. Ranks of MPI
/// are numbered servers first, then workers, then stage by stage.
struct ServerJob {
    std::vector<std::string> servers = {};  ///< "host:port"
    std::vector<std::string> workers = {};
    std::vector<HeterStage> stages = {};
    std::string gloo_endpoint = {};  ///< where Gloo's ranks meet, on the first server's host
    friend bool operator==(const ServerJob&, const ServerJob&) = default;
};

/// What a rank of a parameter-server job is.
struct Member {
    Role role = Role::trainer;
    int index = 0;  ///< within its role; heterogeneous workers are counted through all stages
    int stage = 0;  ///< 1 for workers, 2 and more for heterogeneous workers, 0 for servers
    std::string endpoint = {};
    friend bool operator==(const Member&, const Member&) = default;
};

/// The member that MPI's `rank` is.
/// @throws UsageError when the job has fewer ranks.
Member member_of(const ServerJob& job, int rank);

/// What a rank's program is told besides its identity.
struct ProgramContext {
    Identity identity = {};
    Endpoints endpoints = {};
    std::optional<ServerJob> servers = {};  ///< of a parameter-server job
    bool rpc = false;                       ///< --run_mode rpc: paddle.distributed.rpc's variables besides
    std::string backend = {};               ///< PADDLE_DISTRI_BACKEND; "": nccl with devices, else gloo
    /// Per rank of the whole job where known, else of this node: the devices as positions in the visible
    /// list; empty lists on CPU.
    std::vector<std::vector<int>> devices_of_rank = {};
    std::vector<int> selected_devices = {};  ///< this rank's positions in the visible list
    /// What a program with devices shall see; "": CUDA_VISIBLE_DEVICES stays as it is.
    std::string cuda_visible_devices = {};
    int threads = 1;                   ///< OMP_NUM_THREADS when the user set none
    std::string log_dir = {};          ///< absolute
    std::string gloo_fs_path = {};     ///< a folder of this job's own for PADDLE_GLOO_FS_PATH
    std::string backup_env_path = {};  ///< PADDLE_BACKUP_ENV_PATH when such a file was written, else empty
    std::string pod_name = {};         ///< six letters, one per node
};

/// The whole environment of a rank's program: `inherited` with Paddle's variables of the rank's mode (both
/// the 2.0-2.3 and the 2.4-3.x names), torch's, OMP_NUM_THREADS and, with devices, CUDA_DEVICE_ORDER and
/// CUDA_VISIBLE_DEVICES set; servers and CPU workers beside GPUs see none; proxies and dtrain's internal
/// variables removed, except the job token. Lists that no exec could pass (over 120 KiB) are left out. What
/// the MPI launcher and the scheduler set stays.
Environment program_environment(const Environment& inherited, const ProgramContext& context);

/// What a PaddleCloud (Kubernetes) platform tells the launcher on each node.
struct PaddleCloud {
    std::vector<std::string> nodes = {};  ///< PADDLE_TRAINERS: addresses, in node rank order
    std::string pod_ip = {};              ///< POD_IP: this node's own address
    int node_rank = 0;                    ///< PADDLE_TRAINER_ID, which counts nodes here
    int ports_per_node = 0;               ///< TRAINER_PORTS_NUM
    std::optional<int> first_port = {};   ///< PADDLE_PORT
    /// DISTRIBUTED_TRAINER_ENDPOINTS, ports_per_node of each; or empty
    std::vector<std::string> endpoints = {};
    friend bool operator==(const PaddleCloud&, const PaddleCloud&) = default;
};

/// Nothing unless PADDLE_TRAINERS, POD_IP, PADDLE_TRAINER_ID and TRAINER_PORTS_NUM are all set and
/// PADDLE_TRAINERS_NUM is set to other than 1: Paddle's own condition.
/// @throws UsageError naming the variable that contradicts the others.
std::optional<PaddleCloud> paddle_cloud(const Environment& environment);

/// "host:port" of every rank, node by node: the platform's endpoints, else its port, or 6170 where it gives
/// none or too few ports.
/// @throws UsageError when the platform's endpoints are fewer than `ranks_per_node` on a node.
std::vector<std::string> cloud_endpoints(const PaddleCloud& cloud, int ranks_per_node);

}  // namespace dtrain::cluster
