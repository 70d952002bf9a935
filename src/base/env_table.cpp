// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/env_table.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace dtrain {
namespace {

/// A row without its group, which is that of its table.
struct Row {
    std::string_view name;
    EnvUse use;
    std::string_view otherwise;
    std::string_view meaning;
};

constexpr auto read = EnvUse::read;
constexpr auto written = EnvUse::written;
constexpr auto both = EnvUse::both;
constexpr auto by_programs = EnvUse::by_programs;

// clang-format off
constexpr std::array dtrain_rows{
    Row{"DTRAIN_RANK", read, "from the MPI launcher", "Rank of this process, for launchers that set no variables of their own."},
    Row{"DTRAIN_SIZE", read, "with DTRAIN_RANK", "Number of ranks in the job."},
    Row{"DTRAIN_LOCAL_RANK", read, "with DTRAIN_RANK", "Rank among those of this node."},
    Row{"DTRAIN_LOCAL_SIZE", read, "with DTRAIN_RANK", "Number of ranks on this node."},
    Row{"DTRAIN_JOB_ID", both, "the launcher's or scheduler's job id", "Name of the job, equal on all of its ranks and different between jobs; first ports come from it."},
    Row{"DTRAIN_JOB_TOKEN", both, "made by dtrain-launch", "Random mark that every process of the job inherits, so that those which escape can be found; programs keep it."},
    Row{"DTRAIN_HOSTS", both, "from the scheduler", "Host names in node order, comma-separated, each with :RANKS where nodes run unequally many."},
    Row{"DTRAIN_NODES_OF_RANKS", both, "ranks follow the nodes", "Node of each rank where ranks are not numbered node by node; each node and how often: 2*0 for ranks 0 and 1."},
    Row{"DTRAIN_TELL_OUTPUT", both, "0", "1: dtrain-worker sends the end of a failed program's log with its report, for a launcher on another node."},
    Row{"DTRAIN_SHOW_BY_EVENTS", both, "0", "1: dtrain-worker sends what dtrain-launch shows of its program's output as events, as mpirun of Open MPI 5.0 until 5.0.10 mixes a rank's two streams."},
    Row{"DTRAIN_HEARTBEAT", both, "none", "Seconds after which the first worker of each node says again that it is there, for a launcher on another node."},
    Row{"DTRAIN_MPIRUNS_VARIABLE", both, "only with mpirun's HWLOC_COMPONENTS", "Name of a variable that dtrain-launch sets for mpirun: dtrain-worker does not pass it on."},
    Row{"DTRAIN_NETWORK_INTERFACE", both, "the one that leads to the other nodes", "Network interface that NCCL and Gloo shall use on several nodes."},
    Row{"DTRAIN_EVENTS", both, "0", "1: dtrain-worker reports events on stderr as lines for dtrain-launch instead of as sentences."},
    Row{"DTRAIN_CONTROL", both, "signals", "stdin: dtrain-launch speaks to dtrain-worker through lines on its stdin, which srun copies to all ranks, instead of signals."},
    Row{"DTRAIN_CPUS", both, "placed by dtrain-worker", "CPUs of each local rank, as lists such as 0-3,8, separated by semicolons."},
    Row{"DTRAIN_NUMA", both, "placed by dtrain-worker", "NUMA nodes of each local rank's memory, separated by semicolons."},
    Row{"DTRAIN_GPUS", both, "placed by dtrain-worker", "GPUs of each local rank as positions in the visible list, separated by semicolons."},
    Row{"DTRAIN_THREADS", both, "the rank's CPUs", "Threads of each local rank, separated by semicolons."},
    Row{"DTRAIN_ADAPTER", both, "placed by dtrain-worker", "Network adapter nearest to each local rank, separated by semicolons."},
    Row{"DTRAIN_VISIBLE", both, "the selected GPUs", "GPUs that the programs of a node shall see; becomes their CUDA_VISIBLE_DEVICES."},
    Row{"DTRAIN_SELECT", both, "all that are visible", "GPUs of each node that a job under srun uses, by their positions among those that Slurm shows there: all, or 0,2."},
    Row{"DTRAIN_BIND", both, "apply", "apply: ranks are bound to their CPUs and memory; none: they are only told about them."},
    Row{"DTRAIN_ENDPOINTS", both, "hosts and ports from the job id", "host:port of every rank, comma-separated in rank order; host:first-last for several ports. What is too long for one variable goes on in DTRAIN_ENDPOINTS_2 and so on, as with all lists of nodes and ranks."},
    Row{"DTRAIN_MASTER", both, "after the ports of node 0", "host:port for PADDLE_MASTER."},
    Row{"DTRAIN_TORCH_JOB", both, "only by dtrain-run", "What dtrain-worker needs of a dtrain-run command line, as JSON."},
    Row{"DTRAIN_TORCH_MASTER", both, "after DTRAIN_MASTER", "host:port for MASTER_ADDR and MASTER_PORT."},
    Row{"DTRAIN_SPAWN", by_programs, "only in ranks of spawn()", "Which call of dtrain::spawn() a process is to run the function of, and the folder by which it answers."},
    Row{"DTRAIN_RUN_ID", by_programs, "only with --max_restart or etcd", "Random mark of the job, the same whenever it is started again: a native job goes on by it from its own checkpoints."},
    Row{"DTRAIN_RUN_RECORD", by_programs, "only with --report FILE.html", "File into which a native job writes what it measures, for the page of dtrain-launch."},
    Row{"DTRAIN_ERROR_FILE", by_programs, "a file of each rank, set by dtrain-worker", "File in which a program leaves why its rank fails, as JSON, for the report of dtrain-launch."},
    Row{"DTRAIN_OPERATION_LOG", by_programs, "a folder of each rank, set by dtrain-worker", "Folder in which each process of a rank records its last operations, for reports of hangs."},
    Row{"DTRAIN_TORCH_RECORDS", by_programs, "1", "0: a rank whose program uses torch does not tell dtrain-worker what torch has recorded of its operations."},
    Row{"DTRAIN_PADDLE_RECORDS", by_programs, "1", "0: a rank whose program uses Paddle on gloo records nothing of its operations."},
    Row{"DTRAIN_LAUNCH", read, "beside libdtrain, else in PATH", "dtrain-launch, for dtrain::spawn()."},
    Row{"DTRAIN_LIBRARY", by_programs, "the wheel's, else what the system finds", "libdtrain.so that Python's dtrain loads."},
    Row{"DTRAIN_LOG_DIR", read, "log", "Folder of workerlog.<rank> and endpoints.log."},
    Row{"DTRAIN_SHARED", both, "placed by dtrain-worker", "1 for each local rank that shares its CPUs with others, else 0, separated by semicolons."},
    Row{"DTRAIN_GLOO_FS_PATH", both, "a random name below /tmp", "Folder of the job for PADDLE_GLOO_FS_PATH."},
    Row{"DTRAIN_RANK_CPUS", both, "always", "CPUs that the program's rank was given, bound to them or not; a native job with it knows that it is supervised."},
    Row{"DTRAIN_RANK_ADAPTER", written, "only with an adapter", "Network adapter nearest to the program's rank."},
    Row{"DTRAIN_POD_NAME", read, "six letters made of job and node", "Name of this node's group of ranks, for POD_NAME."},
    Row{"DTRAIN_RUN_MODE", both, "collective", "Kind of job: collective, ps, ps-heter or rpc."},
    Row{"DTRAIN_BACKEND", both, "nccl with GPUs, else gloo", "What PADDLE_DISTRI_BACKEND shall say."},
    Row{"DTRAIN_ENDPOINTS_FILE", written, "only for long lists", "File with a title line and then host:port of every rank, a line each, in place of PADDLE_TRAINER_ENDPOINTS of 120 KiB or more."},
    Row{"DTRAIN_SERVERS", both, "no servers", "host:port of every server of a parameter-server job, comma-separated."},
    Row{"DTRAIN_WORKERS", both, "with DTRAIN_SERVERS", "host:port of every worker."},
    Row{"DTRAIN_HETER_WORKERS", both, "no such workers", "host:port of every heterogeneous worker; stages separated by semicolons."},
    Row{"DTRAIN_HETER_DEVICES", both, "with DTRAIN_HETER_WORKERS", "Device of each stage, gpu or cpu, separated by semicolons."},
    Row{"DTRAIN_GLOO_ENDPOINT", both, "with DTRAIN_SERVERS", "host:port on the first server where Gloo's ranks meet."},
    Row{"DTRAIN_HANG_TIMEOUT", read, "auto", "Default of --hang-timeout: seconds, or auto; a job that hangs longer is stopped."},
    Row{"DTRAIN_LOG_MAX_SIZE", read, "no limit", "Default of --log-max-size."},
    Row{"DTRAIN_LOG_MODE", read, "0600", "Default of --log-mode."},
    Row{"DTRAIN_KEY_FILE", read, "~/.dtrain/key", "The key that the launchers of a job's nodes share."},
    Row{"DTRAIN_JOBS_DIR", both, "XDG_STATE_HOME/dtrain/jobs", "Folder of the records by which dtrain-launch status and the like find running jobs."},
    Row{"DTRAIN_AGENT_SOCKET", both, "made by dtrain-launch", "Where mpirun's remote-shell agent reaches dtrain-launch."},
    Row{"DTRAIN_NODE_LOG_DIR", both, "--log_dir", "Folder of a node's logs where it is another one than on node 0; set by the dtrain-launch there."},
    Row{"DTRAIN_NODE_PROGRAM", both, "node 0's command", "What a node's ranks execute, quoted as for a shell: the command that its own dtrain-launch was given, and sets here."},
    Row{"DTRAIN_NODE_WORKING_DIR", both, "DTRAIN_WORKING_DIR", "The folder that it was started in."},
    Row{"DTRAIN_WORKING_DIR", both, "that of mpirun", "Working folder of the ranks of nodes without a dtrain-launch of their own, where others have one."},
    Row{"DTRAIN_COMM_TIMEOUT", by_programs, "1800", "Seconds that a rank of a native program waits for others in one operation of a Communicator, and at MPI's start, there 30 at least; 0 is for ever."},
    Row{"DTRAIN_MPI_START_TIMEOUT", by_programs, "DTRAIN_COMM_TIMEOUT, 30 at least", "Seconds that a rank of a native program waits in MPI_Init for the others; 0 is for ever."},
    Row{"DTRAIN_DEVICE", by_programs, "the GPU of --gpus, else cpu", "What executors of native programs that were not told, and layers line by line, compute on: cpu, gpu (the one that --gpus chose for the rank) or gpu:1."},
    Row{"DTRAIN_GPU_MODULE", by_programs, "libdtrain_gpu.so", "File of the module with the kernels for GPUs; for tests, the stand-in that runs them on the processor."},
    Row{"DTRAIN_GPU_STAND_IN_THREADS", by_programs, "1", "Threads of a block of the stand-in for GPUs, for tests."},
    Row{"DTRAIN_NCCL_GRAPH", by_programs, "1", "0: NCCL's sums stay outside of the CUDA graph of a step; for all ranks when one of them is told so."},
    Row{"DTRAIN_NCCL_MODULE", by_programs, "libdtrain_nccl.so", "File of the module that calls NCCL and CUDA's runtime."},
    Row{"DTRAIN_PROMETHEUS_MODULE", by_programs, "libdtrain_prometheus.so", "File of the module that calls prometheus-cpp, for --metrics-port and the metrics of parameter servers."},
    Row{"DTRAIN_TRACE_MPI_MODULE", read, "libdtrain_trace_mpi.so", "File of the library that --trace-mpi loads into programs, to record their calls of MPI."},
    Row{"DTRAIN_PROGRESS_THREAD", by_programs, "1", "0: no thread lets operations of a Communicator across nodes go on while a native program computes."},
    Row{"DTRAIN_RANKS_PER_NODE", by_programs, "ranks that share memory", "For tests: so many consecutive ranks of a native program count as a node of their own, so that several nodes are on one machine."},
    Row{"DTRAIN_GRACE", read, "10", "Seconds between SIGTERM and SIGKILL when programs are stopped."},
};

constexpr std::array open_mpi_rows{
    Row{"OMPI_COMM_WORLD_RANK", read, "not under mpirun", "Rank of this process."},
    Row{"OMPI_COMM_WORLD_SIZE", read, "not under mpirun", "Number of ranks."},
    Row{"OMPI_COMM_WORLD_LOCAL_RANK", read, "not under mpirun", "Rank among those of this job on this node."},
    Row{"OMPI_COMM_WORLD_LOCAL_SIZE", read, "not under mpirun", "Number of ranks of this job on this node."},
    Row{"OMPI_ALLOW_RUN_AS_ROOT", written, "1 when dtrain-launch runs as root", "Open MPI refuses root without it."},
    Row{"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", written, "1 when dtrain-launch runs as root", "The second half of the same."},
    Row{"PMIX_RANK", read, "not under PMIx", "Rank of this process; where it is missing under srun, Open MPI cannot join the ranks."},
    Row{"PMIX_NAMESPACE", read, "OMPI_MCA_ess_base_jobid", "Name of the job."},
    Row{"PMIX_GDS_MODULE", read, "unknown", "Stores that the PMIx of srun offers to its ranks."},
    Row{"PMIX_MCA_gds", both, "hash for ranks of srun with PMIx before 5", "Store that a rank's PMIx uses; those in shared memory (ds21, ds12) let ranks crash in MPI_Init now and then. The user's value is kept."},
    Row{"PMIX_PREFIX", both, "from mpirun", "Where Open MPI 5's PMIx is installed; an agent takes it only from the command of the authenticated coordinator."},
    Row{"PRTE_PREFIX", both, "from mpirun", "The same for its runtime, PRRTE."},
    Row{"PMIX_HOSTNAME", read, "unknown", "Name that mpirun has for this node."},
    Row{"OMPI_MCA_ess_base_jobid", read, "no job id", "Name of the job in Open MPI 4.1."},
    Row{"OMPI_MCA_ess_singleton_isolated", written, "1 in a native job without a launcher", "Open MPI 4.1 starts no daemon for its one rank; the user's value is kept."},
    Row{"OMPI_MCA_orte_create_session_dirs", written, "0 with it", "Without a daemon, all such jobs of a user on a node would have the same session folder; the user's value is kept."},
    Row{"OMPI_MCA_sharedfp", written, "individual with it", "MPI-IO's shared file pointers need no session folder; the user's value is kept."},
    Row{"OMPI_MCA_orte_num_nodes", read, "unknown", "Nodes of the allocation in Open MPI 4.1, more than which the job cannot have."},
    Row{"OMPI_MCA_oob_tcp_if_include", written, "on machines with several networks", "Network of the nodes, such as 10.0.0.0/24, for the daemons of Open MPI 4.1; the user's value is kept."},
    Row{"OMPI_MCA_btl_tcp_if_include", written, "on machines with several networks", "The same for the ranks; the user's value is kept."},
    Row{"OMPI_MCA_btl_vader_single_copy_mechanism", written, "where ranks may not read each other's memory", "none, in containers that forbid it: Open MPI 4.1 prints a line for each long message otherwise; the user's value is kept."},
    Row{"OMPI_MCA_mtl", written, "without InfiniBand, RoCE, EFA, Omni-Path, Slingshot and Aries", "^ofi,psm,psm2,portals4: MPI_Init does not load what is for these, which takes 0.2 s with Debian's Open MPI; not where a variable OMPI_MCA_mtl* or OMPI_MCA_pml* is set."},
    Row{"OMPI_MCA_pml", read, "not set", "What selects MTLs: where it is set, OMPI_MCA_mtl is left to Open MPI."},
    Row{"OMPI_MCA_btl_tcp_disable_family", written, "where all ranks are on one node, or every node has an IPv4 address", "6: Open MPI 5.0 with IPv6 warns of addresses that it cannot pair; the user's value is kept."},
    Row{"PRTE_MCA_prte_if_include", written, "on machines with several networks", "The same for the daemons of Open MPI 5; the user's value is kept."},
    Row{"OMPI_MCA_orte_tmpdir_base", both, "below TMPDIR", "Where daemons of Open MPI 4.1 have their files; an agent gives its daemon a folder of its own there."},
    Row{"OMPI_MCA_plm", written, "with the agent", "rsh: mpirun 4.1 uses the agent also inside of a batch job."},
    Row{"OMPI_MCA_ras", written, "with the agent", "mpirun 4.1 asks no scheduler for nodes: dtrain-launch names them."},
    Row{"PRTE_MCA_plm", written, "with the agent", "ssh: mpirun 5 uses the agent also inside of a batch job."},
    Row{"PRTE_MCA_ras", written, "on one node, and with the agent", "mpirun 5 asks no scheduler for nodes; on one node the user's value is kept."},
    Row{"OMPI_MCA_plm_rsh_agent", written, "on several nodes", "What mpirun 4.1 starts in place of ssh: dtrain-rsh, when the nodes' launchers have met, or in a PBS job."},
    Row{"OMPI_MCA_plm_rsh_no_tree_spawn", written, "with the agent", "mpirun 4.1 starts every node's daemon itself."},
    Row{"OMPI_MCA_plm_rsh_num_concurrent", written, "with the agent", "Agents of mpirun 4.1 that may live at the same time: one for each node."},
    Row{"PRTE_MCA_plm_ssh_agent", written, "on several nodes", "What mpirun 5 starts in place of ssh."},
    Row{"PRTE_MCA_plm_ssh_no_tree_spawn", written, "with the agent", "mpirun 5 starts every node's daemon itself."},
    Row{"PRTE_MCA_plm_ssh_num_concurrent", written, "with the agent", "Agents of mpirun 5 that may live at the same time."},
    Row{"OMPI_MCA_mpi_yield_when_idle", both, "1 with more ranks than cores", "Waiting ranks give their core to others."},
};

constexpr std::array hydra_rows{
    Row{"PMI_RANK", read, "not under mpiexec", "Rank of this process."},
    Row{"PMI_FD", read, "not under mpiexec", "Connection to the launcher; where it is missing, srun started the ranks without PMI."},
    Row{"PMI_SIZE", read, "not under mpiexec", "Number of ranks."},
    Row{"MPI_LOCALRANKID", read, "not under mpiexec.hydra", "Rank on this node (MPICH, Intel MPI)."},
    Row{"MPI_LOCALNRANKS", read, "not under mpiexec.hydra", "Number of ranks on this node (MPICH, Intel MPI)."},
    Row{"PMI_LOCAL_RANK", read, "not under Cray PMI", "Rank on this node (Cray)."},
    Row{"PMI_LOCAL_SIZE", read, "not under Cray PMI", "Number of ranks on this node (Cray)."},
    Row{"PMI_HOSTNAME", read, "unknown", "Name that mpiexec.hydra has for this node (MPICH 4.1 and later)."},
    Row{"MPIR_CVAR_CH3_INTERFACE_HOSTNAME", read, "unknown", "The same in MPICH up to 4.0."},
};

constexpr std::array slurm_rows{
    Row{"SLURM_STEP_ID", read, "not started by srun", "Number of the step; only a process that has one is a rank of srun."},
    Row{"SLURM_STEPID", read, "not started by srun", "The same under its old name; hidden from MPI in a native job of one rank without PMIx."},
    Row{"SLURM_PROCID", read, "not started by srun", "Rank of this process; the shell of a batch script has it too."},
    Row{"SLURM_LOCALID", read, "required with SLURM_PROCID", "Rank on this node."},
    Row{"SLURM_NODEID", read, "required with SLURM_PROCID", "Number of this node in the step."},
    Row{"SLURM_STEP_NUM_TASKS", read, "SLURM_NTASKS", "Number of ranks in the step."},
    Row{"SLURM_NTASKS", read, "required with SLURM_PROCID", "Number of ranks."},
    Row{"SLURM_STEP_NUM_NODES", read, "SLURM_NNODES", "Number of nodes in the step."},
    Row{"SLURM_NNODES", read, "required with SLURM_PROCID", "Number of nodes."},
    Row{"SLURM_STEP_TASKS_PER_NODE", read, "SLURM_TASKS_PER_NODE", "Ranks of each node, such as 2(x3),1."},
    Row{"SLURM_TASKS_PER_NODE", read, "required with SLURM_PROCID", "Ranks of each node."},
    Row{"SLURM_DISTRIBUTION", read, "block", "How srun deals ranks to nodes."},
    Row{"SLURM_STEP_NODELIST", read, "SLURM_JOB_NODELIST", "Nodes of the step, such as n[01-03,7]."},
    Row{"SLURM_NODELIST", read, "no scheduler", "SLURM_JOB_NODELIST under its old name; hidden from MPI like SLURM_STEPID."},
    Row{"SLURM_HET_SIZE", read, "one component", "Components of a heterogeneous job; dtrain-launch uses the one that its script is in, and says so."},
    Row{"SLURM_JOB_NODELIST_HET_GROUP_<n>", read, "one component", "Nodes of component n."},
    Row{"SLURM_JOB_NODELIST", read, "no scheduler", "Nodes of the job; also names the hosts of ranks that mpirun or mpiexec started there."},
    Row{"SLURM_HOSTFILE", read, "not asked for", "Hosts of ranks for srun; taken from the srun of dtrain-launch, whose plan has them."},
    Row{"SLURM_NPROCS", read, "not asked for", "SLURM_NTASKS under its old name; taken from the srun of dtrain-launch."},
    Row{"SLURM_NTASKS_PER_NODE", read, "not asked for", "Tasks a node that sbatch or salloc was asked for: ranks of each node where there are several; taken from the srun of dtrain-launch."},
    Row{"SLURM_CPUS_PER_TASK", read, "not asked for", "A wish of sbatch or salloc that srun takes over; taken from the srun of dtrain-launch, which deals GPUs and processors itself."},
    Row{"SRUN_CPUS_PER_TASK", read, "not asked for", "A wish of sbatch or salloc that srun takes over; taken from the srun of dtrain-launch, which deals GPUs and processors itself."},
    Row{"SLURM_GPUS", read, "not asked for", "A wish of sbatch or salloc that srun takes over; taken from the srun of dtrain-launch, which deals GPUs and processors itself."},
    Row{"SLURM_GPUS_PER_NODE", read, "not asked for", "GPUs of each node, such as a100:4; taken from the srun of dtrain-launch, which names their number."},
    Row{"SLURM_GPUS_PER_TASK", read, "not asked for", "A wish of sbatch or salloc that srun takes over; taken from the srun of dtrain-launch, which deals GPUs and processors itself."},
    Row{"SLURM_GPUS_PER_SOCKET", read, "not asked for", "A wish of sbatch or salloc that srun takes over; taken from the srun of dtrain-launch, which deals GPUs and processors itself."},
    Row{"SLURM_GPU_BIND", read, "not asked for", "A wish of sbatch or salloc that srun takes over; taken from the srun of dtrain-launch, which deals GPUs and processors itself."},
    Row{"SLURM_TRES_BIND", read, "not asked for", "A wish of sbatch or salloc that srun takes over; taken from the srun of dtrain-launch, which deals GPUs and processors itself."},
    Row{"SLURM_TRES_PER_TASK", read, "not asked for", "A wish of sbatch or salloc that srun takes over; taken from the srun of dtrain-launch, which deals GPUs and processors itself."},
    Row{"SLURM_NTASKS_PER_GPU", read, "not asked for", "A wish of sbatch or salloc that srun takes over; taken from the srun of dtrain-launch, which deals GPUs and processors itself."},
    Row{"SLURM_NTASKS_PER_TRES", read, "not asked for", "A wish of sbatch or salloc that srun takes over; taken from the srun of dtrain-launch, which deals GPUs and processors itself."},
    Row{"SLURM_LABELIO", read, "not asked for", "How srun passes its tasks' streams on; taken from the srun of dtrain-launch, whose events travel there."},
    Row{"SLURM_UNBUFFEREDIO", read, "not asked for", "How srun passes its tasks' streams on; taken from the srun of dtrain-launch, whose events travel there."},
    Row{"SLURM_STDINMODE", read, "not asked for", "How srun passes its tasks' streams on; taken from the srun of dtrain-launch, whose events travel there."},
    Row{"SLURM_STDOUTMODE", read, "not asked for", "How srun passes its tasks' streams on; taken from the srun of dtrain-launch, whose events travel there."},
    Row{"SLURM_STDERRMODE", read, "not asked for", "How srun passes its tasks' streams on; taken from the srun of dtrain-launch, whose events travel there."},
    Row{"SLURM_EXACT", read, "not asked for", "A wish of sbatch or salloc that srun takes over; taken from the srun of dtrain-launch, which deals GPUs and processors itself."},
    Row{"SLURM_GPUS_ON_NODE", read, "asked of scontrol", "GPUs of this node of the job."},
    Row{"SLURM_JOB_GPUS", read, "SLURM_GPUS_ON_NODE", "Numbers of the GPUs of this node of the job."},
    Row{"SLURM_CPU_BIND_TYPE", read, "not bound", "How Slurm bound tasks to processors: mask_cpu or map_cpu."},
    Row{"SLURM_CPU_BIND_LIST", read, "with SLURM_CPU_BIND_TYPE", "Processors of each task of this node, which dtrain-worker shares out anew."},
    Row{"SLURM_JOB_CPUS_PER_NODE", read, "equally many ranks per node", "CPUs of each node of the job, which are mpirun's slots."},
    Row{"SLURM_JOB_ID", read, "no scheduler", "Number of the job."},
};

constexpr std::array pals_rows{
    Row{"PALS_RANKID", read, "not under PALS", "Rank of this process (Cray's mpiexec)."},
    Row{"PALS_LOCAL_RANKID", read, "PMI_LOCAL_RANK", "Rank on this node."},
    Row{"PALS_LOCAL_SIZE", read, "PMI_LOCAL_SIZE", "Number of ranks on this node."},
    Row{"PALS_NODEID", read, "from ranks and sizes", "Number of this node."},
    Row{"PALS_APID", read, "required with PALS_RANKID", "Name of the job."},
};

constexpr std::array scheduler_rows{
    Row{"PBS_NODEFILE", read, "no PBS job", "File that names the job's nodes, a line for each MPI slot."},
    Row{"PBS_EXEC", read, "that of PBS_CONF_FILE, or /opt/pbs", "Where PBS is installed; its bin/pbs_tmrsh reaches the job's other nodes."},
    Row{"PBS_CONF_FILE", read, "/etc/pbs.conf", "PBS' settings, which say where it is installed."},
    Row{"PBS_JOBID", read, "no PBS job", "Name of the job, for launchers that set none."},
    Row{"NCPUS", read, "unknown", "Processors of a chunk, which PBS gives each process as OMP_NUM_THREADS, too."},
    Row{"LSB_JOBID", read, "no LSF job", "Number of the job, for launchers that set none."},
    Row{"COBALT_JOBID", read, "no Cobalt job", "Number of the job, for launchers that set none."},
    Row{"FLUX_JOB_ID", read, "no Flux job", "Name of the job, for launchers that set none."},
};

constexpr std::array paddle_rows{
    Row{"PADDLE_TRAINER_ID", both, "the rank", "Rank for the program; from PaddleCloud, the number of the node."},
    Row{"PADDLE_TRAINERS_NUM", both, "the number of ranks", "Number of ranks for the program; from PaddleCloud, other than 1 when there are several trainers."},
    Row{"PADDLE_CURRENT_ENDPOINT", written, "from DTRAIN_ENDPOINTS", "host:port of this rank."},
    Row{"PADDLE_TRAINER_ENDPOINTS", written, "from DTRAIN_ENDPOINTS", "host:port of every rank; from 120 KiB on, which no program could be started with, in the file that DTRAIN_ENDPOINTS_FILE names."},
    Row{"PADDLE_RANK_IN_NODE", written, "the local rank", "Rank on this node."},
    Row{"PADDLE_LOCAL_DEVICE_IDS", written, "empty on CPU", "Devices of this rank, comma-separated."},
    Row{"PADDLE_WORLD_DEVICE_IDS", written, "left out when not known", "Devices of every rank: commas between ranks, colons between devices of one."},
    Row{"FLAGS_selected_gpus", written, "absent on CPU", "This rank's GPUs as positions in CUDA_VISIBLE_DEVICES."},
    Row{"FLAGS_selected_accelerators", written, "absent on CPU", "The same for any kind of device."},
    Row{"PADDLE_DISTRI_BACKEND", written, "nccl with GPUs, else gloo", "Communication library that Paddle shall use."},
    Row{"PADDLE_WITH_GLOO", both, "0", "Whether Paddle sets up Gloo besides; the user's value is kept."},
    Row{"PADDLE_GLOO_RENDEZVOUS", written, "3", "How Gloo's ranks meet: 3 is over HTTP."},
    Row{"PADDLE_GLOO_FS_PATH", written, "a folder of the job", "Folder for Gloo's meeting over files."},
    Row{"PADDLE_MASTER", both, "from DTRAIN_MASTER", "host:port of the store that rank 0 opens."},
    Row{"PADDLE_GLOBAL_SIZE", written, "the number of ranks", "Number of ranks."},
    Row{"PADDLE_GLOBAL_RANK", written, "the rank", "Rank of this process."},
    Row{"PADDLE_LOCAL_SIZE", written, "the ranks of this node", "Number of ranks on this node."},
    Row{"PADDLE_LOCAL_RANK", written, "the local rank", "Rank on this node."},
    Row{"PADDLE_NNODES", both, "the number of nodes", "Number of nodes."},
    Row{"PADDLE_AUTO_PARALLEL_CONFIG", both, "none", "Settings of Paddle's automatic parallelism: overrides --auto_parallel_config; programs get the file's absolute path."},
    Row{"PADDLE_AUTO_PARALLEL_STAGE", written, "with --auto_parallel_config", "run: what Paddle's tuner would find out is known."},
    Row{"PADDLE_RANK_MAPPING_PATH", written, "with --enable_auto_mapping", "Absolute path of --rank_mapping_file."},
    Row{"PADDLE_ENABLE_AUTO_MAPPING", written, "with --enable_auto_mapping", "True: nodes and ranks are those of --rank_mapping_file."},
    Row{"PADDLE_AUTO_CLUSTER", both, "0", "Paddle 3's automatic cluster description; the user's value is kept."},
    Row{"PADDLE_LOG_DIR", both, "absolute log folder", "Folder of the logs."},
    Row{"PADDLE_BACKUP_ENV_PATH", written, "left out without such a file", "JSON file with the variables that are too long for the environment."},
    Row{"POD_NAME", written, "from DTRAIN_POD_NAME", "Name of this node's group of ranks."},
    Row{"PADDLE_NUM_TRAINERS", read, "--gpus is a list", "Number of nodes, in the handbook's first spelling: --gpus is then a count, and logs go to ./mylog."},
    Row{"PADDLE_PSERVERS_IP_PORT_LIST", both, "only with servers", "host:port of every server; with TRAINING_ROLE a job file's ranks know by it how many of them serve."},
    Row{"TRAINING_ROLE", both, "only with servers", "PSERVER, TRAINER or HETER_TRAINER."},
    Row{"PADDLE_ROLE", written, "only with servers", "The same under its later name."},
    Row{"PADDLE_GLOO_HTTP_ENDPOINT", written, "only with servers", "Where Gloo's ranks meet."},
    Row{"PADDLE_HETER_TRAINER_IP_PORT_LIST", written, "only with servers; empty without stages", "host:port of every heterogeneous worker (Paddle 2.0, 2.1)."},
    Row{"PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST", written, "only with stages", "The same under its later name."},
    Row{"PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST", written, "only with stages", "host:port of the stage before."},
    Row{"PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST", written, "only with stages", "host:port of the stage after."},
    Row{"STAGE_ID", written, "only with stages", "Stage of this worker, 1 for the workers themselves."},
    Row{"STAGE_NUM", written, "only with stages", "Number of stages."},
    Row{"PADDLE_STAGE_TRAINERS_NUM", written, "only with stages", "Workers of each stage, as a Python list."},
    Row{"HETER_DEVICE_TYPE", written, "only with stages", "Device of the worker, cpu or gpu."},
    Row{"PADDLE_MASTER_ENDPOINT", written, "only in rpc mode", "PADDLE_MASTER for paddle.distributed.rpc."},
    Row{"PADDLE_WORKER_ENDPOINT", written, "only in rpc mode", "PADDLE_CURRENT_ENDPOINT for paddle.distributed.rpc."},
    Row{"PADDLE_RUN_MODE", read, "the command line", "Overrides --run_mode of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_JOB_ID", read, "the command line", "Overrides --job_id of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_DEVICES", read, "the command line", "Overrides --gpus of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_NPROC_PER_NODE", read, "the command line", "Overrides --nproc_per_node of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_LOG_LEVEL", read, "the command line", "Overrides --log_level of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_LOG_OVERWRITE", read, "the command line", "Overrides --log_overwrite of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_IPS", read, "the command line", "Overrides --ips of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_START_PORT", read, "the command line", "Overrides --start_port of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_RANK", read, "the command line", "Overrides --rank of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_SORT_IP", read, "the command line", "Overrides --sort_ip of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_SERVER_NUM", read, "the command line", "Overrides --server_num of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_TRAINER_NUM", read, "the command line", "Overrides --worker_num of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_SERVERS_ENDPOINTS", read, "the command line", "Overrides --servers of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_TRAINERS_ENDPOINTS", read, "the command line", "Overrides --workers of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_GLOO_PORT", read, "the command line", "Overrides --http_port of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_MAX_RESTART", read, "the command line", "Overrides --max_restart of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_ELASTIC_LEVEL", read, "the command line", "Overrides --elastic_level of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_ELASTIC_TIMEOUT", read, "the command line", "Overrides --elastic_timeout of dtrain-launch, as in Paddle; not inside a rank of another job."},
    Row{"PADDLE_ELASTIC_SERVER", read, "--elastic_server", "etcd of an elastic job; counts only where the number of nodes and the job's id are known too. As all of these not inside a rank of another job."},
    Row{"PADDLE_ELASTIC_ETCD_SERVICE_HOST", read, "PADDLE_ELASTIC_SERVER", "Host of that etcd, as Kubernetes names it."},
    Row{"PADDLE_ELASTIC_ETCD_SERVICE_PORT", read, "PADDLE_ELASTIC_SERVER", "Its port."},
    Row{"PADDLE_ELASTIC_JOB_ID", read, "--job_id", "Id of an elastic job."},
    Row{"PADDLE_ELASTIC_NP", read, "--np", "Number of nodes of an elastic job, or MIN:MAX."},
    Row{"PADDLE_ELASTIC_TTL", read, "60", "Seconds without a word after which a node of an elastic job counts as gone; --elastic-ttl overrides it."},
    Row{"PADDLE_ELASTIC_SCALE", read, "--scale", "Nodes to be added to an elastic job."},
    Row{"PADDLE_ELASTIC_FORCE", read, "--force", "Whether this node's number of nodes replaces the job's."},
    Row{"PADDLE_RESTART_COUNT", written, "only with --max_restart or etcd", "How often the job was started again."},
    Row{"FLAGS_START_PORT", read, "from the job id", "First port of the ranks on each node."},
};

constexpr std::array paddle_cloud_rows{
    Row{"PADDLE_TRAINERS", read, "not on PaddleCloud", "Addresses of the nodes, in node order."},
    Row{"POD_IP", both, "not on PaddleCloud", "Address of this node: overrides --host of dtrain-launch; in parameter-server jobs the address of this process."},
    Row{"TRAINER_PORTS_NUM", read, "not on PaddleCloud", "Ports that each node has for ranks."},
    Row{"PADDLE_PORT", both, "6170 on PaddleCloud", "First of those ports; in parameter-server jobs the port of this process."},
    Row{"DISTRIBUTED_TRAINER_ENDPOINTS", read, "nodes and ports", "host:port for every port of every node."},
};

constexpr std::array torch_rows{
    Row{"RANK", written, "the rank", "Rank of this process."},
    Row{"WORLD_SIZE", written, "the number of ranks", "Number of ranks."},
    Row{"LOCAL_RANK", written, "the local rank", "Rank on this node."},
    Row{"LOCAL_WORLD_SIZE", written, "the ranks of this node", "Number of ranks on this node."},
    Row{"GROUP_RANK", written, "the node's number", "Number of this node."},
    Row{"TORCHELASTIC_RESTART_COUNT", written, "only with --max_restart, etcd or dtrain-run", "How often the job was started again."},
    Row{"TORCHELASTIC_ERROR_FILE", both, "DTRAIN_ERROR_FILE", "The same for torch's @record; the user's value is kept, and without DTRAIN_ERROR_FILE dtrain's library writes there, too."},
    Row{"GROUP_WORLD_SIZE", written, "only by dtrain-run", "Number of nodes."},
    Row{"ROLE_NAME", written, "only by dtrain-run", "--role."},
    Row{"ROLE_RANK", written, "only by dtrain-run", "Rank of this process."},
    Row{"ROLE_WORLD_SIZE", written, "only by dtrain-run", "Number of ranks."},
    Row{"TORCHELASTIC_MAX_RESTARTS", written, "only by dtrain-run", "--max-restarts."},
    Row{"TORCHELASTIC_RUN_ID", written, "only by dtrain-run", "--rdzv-id, or a random name."},
    Row{"TORCHELASTIC_USE_AGENT_STORE", written, "only by dtrain-run", "False: rank 0 opens the store at MASTER_PORT itself."},
    Row{"TORCH_NCCL_ASYNC_ERROR_HANDLING", written, "only by dtrain-run", "1; the user's value is kept."},
    Row{"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE", read, "[${role_name}${local_rank}]:", "dtrain-run's --log-line-prefix-template."},
    Row{"TORCH_ELASTIC_SHUTDOWN_TIMEOUT", read, "30", "dtrain-run's --shutdown-timeout."},
    Row{"PYTHON_EXEC", read, "python3", "Python that dtrain-run starts scripts with."},
    Row{"MASTER_ADDR", written, "the first host", "Host of rank 0's store."},
    Row{"MASTER_PORT", written, "from DTRAIN_TORCH_MASTER", "Port of rank 0's store."},
};

constexpr std::array cuda_rows{
    Row{"CUDA_VISIBLE_DEVICES", both, "all GPUs", "GPUs that may be used: numbers, GPU- or MIG- names, or empty for none; programs see exactly the selected ones."},
    Row{"CUDA_DEVICE_ORDER", written, "PCI_BUS_ID with GPUs", "Makes the numbers mean the order of PCI addresses, as the topology has it."},
};

constexpr std::array system_rows{
    Row{"NCCL_SOCKET_IFNAME", both, "the interface that leads to the other nodes", "Network of NCCL on several nodes; the user's value is kept."},
    Row{"NCCL_RAS_ADDR", read, "localhost:28028", "Where NCCL's RAS answers, as the rank has it: dtrain-worker asks it when the rank seems to hang."},
    Row{"NCCL_RAS_ENABLE", read, "1", "0, as the rank has it: NCCL's RAS is not asked."},
    Row{"GLOO_SOCKET_IFNAME", both, "the interface that leads to the other nodes", "Network of Gloo on several nodes; the user's value is kept."},
    Row{"OMP_NUM_THREADS", both, "the rank's CPUs", "Threads of OpenMP and of the libraries that follow it; the user's value is kept, not the one that PBS gives each rank of a chunk (NCPUS)."},
    Row{"HWLOC_XMLFILE", read, "this machine", "Topology file of another machine to plan for; masks are then computed and not applied."},
    Row{"HWLOC_COMPONENTS", both, "hwloc's own", "Which of hwloc's back ends look for devices. mpirun has `-pci,-linuxio` for a job on one node without GPUs, with one NUMA node and one network adapter at most, unless there is a variable HWLOC_*; programs do not have it."},
    Row{"PATH", read, "required", "Where programs are looked up."},
    Row{"XDG_CONFIG_HOME", read, "~/.config", "Folder of dtrain.toml, the user's defaults."},
    Row{"XDG_STATE_HOME", read, "~/.local/state", "Folder below which the records of running jobs are."},
    Row{"TERM", read, "none", "With `dumb`, dtrain-worker draws no progress line on the terminal."},
    Row{"TMPDIR", read, "/tmp", "Where temporary files and sockets of launchers are (at most 85 letters), and rows of parameter servers that have no room in memory, unless [servers] spill says another folder."},
    Row{"PWD", written, "the node's working folder", "Where the rank's program starts, on jobs of several launchers."},
    Row{"HOME", read, "the user's home folder", "Where mpirun's daemons find their settings, and dtrain-launch .config/dtrain.toml."},
    Row{"ETCDCTL_USER", read, "nobody", "User of the etcd of an elastic job, or NAME:PASSWORD, as etcdctl has it."},
    Row{"ETCDCTL_PASSWORD", read, "in ETCDCTL_USER", "Password of that user."},
    Row{"ETCDCTL_CACERT", read, "the system's", "Certificates that the etcd of an elastic job is believed by; with it, host:port means https."},
    Row{"ETCDCTL_CERT", read, "none", "Certificate to show to that etcd; with it, host:port means https."},
    Row{"ETCDCTL_KEY", read, "none", "Key of that certificate."},
    Row{"http_proxy", written, "removed", "Not handed on to programs: it breaks connections between ranks."},
    Row{"https_proxy", written, "removed", "Not handed on to programs, as http_proxy."},
    Row{"HTTP_PROXY", written, "removed", "Not handed on to programs, as http_proxy."},
    Row{"HTTPS_PROXY", written, "removed", "Not handed on to programs, as http_proxy."},
};
// clang-format on

constexpr std::size_t row_count = dtrain_rows.size() + open_mpi_rows.size() + hydra_rows.size() +
                                  slurm_rows.size() + pals_rows.size() + scheduler_rows.size() +
                                  paddle_rows.size() + paddle_cloud_rows.size() + torch_rows.size() +
                                  cuda_rows.size() + system_rows.size();

constexpr auto table = [] {
    std::array<EnvVariable, row_count> out{};
    std::size_t next = 0;
    const auto add = [&](EnvGroup group, const auto& rows) {
        for (const Row& row : rows) out[next++] = {row.name, row.use, group, row.otherwise, row.meaning};
    };
    add(EnvGroup::dtrain, dtrain_rows);
    add(EnvGroup::open_mpi, open_mpi_rows);
    add(EnvGroup::hydra, hydra_rows);
    add(EnvGroup::slurm, slurm_rows);
    add(EnvGroup::pals, pals_rows);
    add(EnvGroup::scheduler, scheduler_rows);
    add(EnvGroup::paddle, paddle_rows);
    add(EnvGroup::paddle_cloud, paddle_cloud_rows);
    add(EnvGroup::torch, torch_rows);
    add(EnvGroup::cuda, cuda_rows);
    add(EnvGroup::system, system_rows);
    return out;
}();

}  // namespace

std::span<const EnvVariable> env_table() {
    return table;
}

const EnvVariable* find_env_variable(std::string_view name) {
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.name == name; });
    return found == table.end() ? nullptr : &*found;
}

std::string_view to_string(EnvUse use) {
    switch (use) {
        case EnvUse::read:
            return "read";
        case EnvUse::written:
            return "written";
        case EnvUse::both:
            return "read, written";
        case EnvUse::by_programs:
            return "read by programs";
    }
    return "";
}

std::string_view title_of(EnvGroup group) {
    switch (group) {
        case EnvGroup::dtrain:
            return "dtrain's own";
        case EnvGroup::open_mpi:
            return "Open MPI 4.1 and 5";
        case EnvGroup::hydra:
            return "hydra and PMI (MPICH, Intel MPI, Cray)";
        case EnvGroup::slurm:
            return "Slurm";
        case EnvGroup::pals:
            return "PALS (Cray)";
        case EnvGroup::scheduler:
            return "PBS and other schedulers";
        case EnvGroup::paddle:
            return "Paddle";
        case EnvGroup::paddle_cloud:
            return "PaddleCloud";
        case EnvGroup::torch:
            return "PyTorch";
        case EnvGroup::cuda:
            return "CUDA";
        case EnvGroup::system:
            return "System and libraries";
    }
    return "";
}

std::string env_table_markdown() {
    std::string out =
        "<!-- Generated from src/base/env_table.cpp: ninja update-docs -->\n"
        "# Environment variables\n\n"
        "What dtrain reads from its surroundings and what it tells the programs it starts. *read*: taken "
        "from the\n"
        "environment; *written*: set (or removed) for the program. The default says what holds when a "
        "variable that\n"
        "is read is not set, or where a written value comes from. Variables of the MPI launcher and the "
        "scheduler are\n"
        "handed on to programs unchanged; dtrain's own are not, except DTRAIN_JOB_TOKEN and what is\n"
        "*read by programs*.\n";
    const EnvVariable* before = nullptr;
    for (const auto& entry : table) {
        if (before == nullptr || before->group != entry.group)
            out += fmt::format("\n## {}\n\n| variable | use | default | meaning |\n|---|---|---|---|\n",
                               title_of(entry.group));
        out += fmt::format("| `{}` | {} | {} | {} |\n", entry.name, to_string(entry.use), entry.otherwise,
                           entry.meaning);
        before = &entry;
    }
    return out;
}

}  // namespace dtrain
