// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/options/option_table.hpp"

#include <algorithm>

#include "launch/options/backend_names.hpp"
#include "scheduler/registry.hpp"

namespace dtrain::launch {
namespace {

using Names = std::vector<std::string_view>;
using O = Options;

constexpr auto base = OptionGroup::base;
constexpr auto collective = OptionGroup::collective;
constexpr auto servers = OptionGroup::parameter_server;
constexpr auto elastic = OptionGroup::elastic;
constexpr auto own = OptionGroup::dtrain;
constexpr auto batch = OptionGroup::submit;

constexpr int highest_port = 65000;
constexpr std::string_view no_tuner = "Paddle's own planner and tuner are not part of dtrain";

// clang-format off
const std::vector<OptionRow>& rows() {
    static const std::vector<OptionRow> table{
    {.name = "log_dir", .group = base, .value = "DIR", .help = "Folder of the logs; %j becomes the job's id", .field = &O::log_dir,
     .paddle = "2.0", .overridden_by = "PADDLE_LOG_DIR", .preset_by = "DTRAIN_LOG_DIR", .in_settings = true,
     .note = "logs are numbered by global rank, as the documents say, and appended"},
    {.name = "run_mode", .group = base, .value = "MODE", .help = "collective, ps, ps-heter or rpc (default: told from the other options)", .field = &O::run_mode,
     .choices = choice_texts<RunMode>(), .paddle = "2.1", .overridden_by = "PADDLE_RUN_MODE",
     .note = "options of another mode are an error; the script's arguments are never looked at"},
    {.name = "job_id", .group = base, .value = "NAME", .help = "Name of the job", .field = &O::job_id,
     .paddle = "2.2", .overridden_by = "PADDLE_JOB_ID", .preset_by = "PADDLE_ELASTIC_JOB_ID"},
    {.name = "gpus", .aliases = {"selected_gpus", "devices"}, .group = base, .value = "LIST", .help = "GPUs of each node by physical id: 0,1,2,3 (default: all of CUDA_VISIBLE_DEVICES)", .field = &O::gpus,
     .paddle = "2.0", .overridden_by = "PADDLE_DEVICES",
     .note = "physical ids, checked against CUDA_VISIBLE_DEVICES; the ranks see exactly these cards (--visible keep: Paddle's way). A count when PADDLE_NUM_TRAINERS is set, as the handbook has it"},
    {.name = "nproc_per_node", .group = base, .value = "N", .help = "Processes on each node; divides the GPUs evenly, or counts CPU processes", .field = &O::nproc_per_node, .min = 1, .max = 65536,
     .paddle = "2.0", .overridden_by = "PADDLE_NPROC_PER_NODE", .note = "must divide the GPUs; without GPUs that many CPU ranks"},
    {.name = "log_level", .group = base, .value = "LEVEL", .help = "How much dtrain-launch says", .field = &O::log_level,
     .choices = {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}, .paddle = "2.4", .overridden_by = "PADDLE_LOG_LEVEL", .in_settings = true},
    {.name = "log_overwrite", .group = base, .help = "Empty the logs of earlier runs instead of appending", .field = &O::log_overwrite,
     .paddle = "2.5", .overridden_by = "PADDLE_LOG_OVERWRITE", .in_settings = true},
    {.name = "backend", .group = base, .value = "NAME", .help = "auto, nccl or gloo: what PADDLE_DISTRI_BACKEND says (auto: nccl with GPUs)", .field = &O::backend,
     .choices = choice_texts<ProgramBackend>(), .paddle = "2.2", .note = "gloo is Paddle's CPU mode: no GPUs unless --gpus asks for them; backends of other devices are refused"},
    {.name = "legacy", .group = base, .value = "BOOL", .paddle = "2.3", .answer = Answer::no_effect, .note = "both generations' variables are always set"},
    {.name = "enable_gpu_log", .group = base, .value = "BOOL", .paddle = "2.5", .answer = Answer::no_effect, .note = "no <job_id>.gpu.log is written"},
    {.name = "xpus", .aliases = {"selected_xpus"}, .group = base, .value = "LIST", .paddle = "2.1", .answer = Answer::refused, .note = no_other_devices},
    {.name = "npus", .aliases = {"selected_npus"}, .group = base, .value = "LIST", .paddle = "2.3", .answer = Answer::refused, .note = no_other_devices},
    {.name = "mlus", .aliases = {"selected_mlus"}, .group = base, .value = "LIST", .paddle = "2.3", .answer = Answer::refused, .note = no_other_devices},
    {.name = "auto_parallel_config", .group = base, .value = "FILE", .help = "Settings of Paddle's automatic parallelism, for the programs", .field = &O::auto_parallel_config,
     .paddle = "2.4", .overridden_by = "PADDLE_AUTO_PARALLEL_CONFIG", .note = "handed on with PADDLE_AUTO_PARALLEL_STAGE=run; Paddle's tuner does not run before the job"},
    {.name = "auto_cluster_config", .group = base, .value = "BOOL", .paddle = "3.0", .answer = Answer::refused, .note = no_tuner},
    {.name = "auto_tuner_json", .group = base, .value = "FILE", .paddle = "2.5", .answer = Answer::refused, .note = no_tuner},
    {.name = "cluster_topo_path", .group = base, .value = "FILE", .paddle = "2.3", .answer = Answer::refused, .note = no_tuner},
    {.name = "rank_mapping_path", .group = base, .value = "FILE", .paddle = "2.3", .answer = Answer::refused, .note = no_tuner},
    {.name = "rank_mapping_file", .group = base, .value = "FILE", .help = "With --enable_auto_mapping: nodes and their ranks, {\"ip_ranks\": [{\"ip\": IP, \"ranks\": [0, 1]}, ...]}", .field = &O::rank_mapping_file,
     .paddle = "2.2", .note = "in place of --ips and --nproc_per_node; ranks of a node follow each other, and each node has as many"},
    {.name = "enable_auto_mapping", .group = base, .help = "Nodes and ranks are those of --rank_mapping_file", .field = &O::enable_auto_mapping,
     .paddle = "2.3", .note = "with --rank_mapping_file; Paddle's planner, which would find a mapping, is not part of dtrain"},

    {.name = "ips", .group = collective, .value = "LIST", .help = "Addresses of all nodes, in the same order on each", .field = &O::ips,
     .paddle = "2.0", .overridden_by = "PADDLE_IPS", .note = "the first one drives the job; no ssh is needed when all nodes run the same command"},
    {.name = "host", .group = collective, .value = "IP", .help = "This node's own address in --ips", .field = &O::host,
     .paddle = "2.2", .overridden_by = "POD_IP"},
    {.name = "hostfile", .group = collective, .value = "FILE", .help = "Nodes from an Open MPI hostfile or PBS nodefile, in place of --ips", .field = &O::hostfile,
     .note = "slots do not count: processes per node come from --gpus and --nproc_per_node"},
    {.name = "start_port", .group = collective, .value = "PORT", .help = "First of consecutive ports (default: free ones)", .field = &O::start_port, .min = 1, .max = highest_port,
     .paddle = "2.4", .overridden_by = "PADDLE_START_PORT", .preset_by = "FLAGS_START_PORT", .in_settings = true, .note = "on one node too"},
    {.name = "master", .group = collective, .value = "IP:PORT", .help = "Where the nodes meet; with one node its PADDLE_MASTER", .field = &O::master,
     .paddle = "2.4", .overridden_by = "PADDLE_MASTER", .note = "one node, several that are numbered by --rank or by arrival, or etcd://host:port for an elastic job"},
    {.name = "nnodes", .aliases = {"nodes"}, .group = collective, .value = "N", .help = "Number of nodes; MIN:MAX with --master etcd://", .field = &O::nnodes,
     .paddle = "2.4", .overridden_by = "PADDLE_NNODES", .note = "1, as many as --ips, or as many as shall meet at --master; N or MIN:MAX with --master etcd://"},
    {.name = "rank", .group = collective, .value = "N", .help = "Number of this node", .field = &O::rank, .min = -1,
     .paddle = "2.4", .overridden_by = "PADDLE_RANK", .note = "PADDLE_TRAINER_ID is not taken for it: ranks of other jobs have it too"},
    {.name = "sort_ip", .group = collective, .help = "Number the nodes by their addresses", .field = &O::sort_ip,
     .paddle = "2.5", .overridden_by = "PADDLE_SORT_IP"},
    {.name = "network_interface", .aliases = {"interface"}, .group = collective, .value = "NAME", .help = "Network that the nodes talk over (default: the one that leads to the other nodes)", .field = &O::network_interface,
     .in_settings = true, .note = "sets NCCL_SOCKET_IFNAME, GLOO_SOCKET_IFNAME and Open MPI's if_include where they are not set"},

    {.name = "server_num", .group = servers, .value = "N", .help = "Servers on this machine", .field = &O::server_num, .min = 0, .max = 4096,
     .paddle = "2.0", .overridden_by = "PADDLE_SERVER_NUM"},
    {.name = "worker_num", .aliases = {"trainer_num"}, .group = servers, .value = "N", .help = "Workers on this machine", .field = &O::worker_num, .min = 0, .max = 65536,
     .paddle = "2.0", .overridden_by = "PADDLE_TRAINER_NUM"},
    {.name = "server_device", .group = servers, .value = "DEVICE", .help = "gpu: servers get GPUs in turn with the workers of their node; cpu: they see none", .field = &O::server_device,
     .choices = choice_texts<Device::Kind>()},
    {.name = "heter_worker_num", .group = servers, .value = "N", .help = "Heterogeneous workers on this machine, for each stage: 2 or 2;1", .field = &O::heter_worker_num,
     .paddle = "2.0"},
    {.name = "servers", .group = servers, .value = "LIST", .help = "Servers as ip:port or ip, separated by commas", .field = &O::servers,
     .paddle = "2.0", .overridden_by = "PADDLE_SERVERS_ENDPOINTS"},
    {.name = "workers", .aliases = {"trainers"}, .group = servers, .value = "LIST", .help = "Workers as ip:port or ip", .field = &O::workers,
     .paddle = "2.0", .overridden_by = "PADDLE_TRAINERS_ENDPOINTS", .note = "rank = place in the list, also where it interleaves hosts"},
    {.name = "heter_workers", .group = servers, .value = "LIST", .help = "Heterogeneous workers; stages separated by ;", .field = &O::heter_workers, .paddle = "2.0"},
    {.name = "heter_devices", .group = servers, .value = "LIST", .help = "Device of each stage, gpu or cpu: gpu;cpu (default gpu)", .field = &O::heter_devices,
     .paddle = "2.2", .note = "may be left out, as in the documents; Paddle 2.2+ demands it"},
    {.name = "http_port", .aliases = {"gloo_port"}, .group = servers, .value = "PORT", .help = "Port on the first server where Gloo's ranks meet", .field = &O::http_port, .min = 1, .max = highest_port,
     .paddle = "2.0", .overridden_by = "PADDLE_GLOO_PORT"},
    {.name = "with_gloo", .group = servers, .value = "N", .help = "PADDLE_WITH_GLOO for the processes: 0, 1 or 2", .field = &O::with_gloo, .max = 2,
     .paddle = "2.3", .overridden_by = "PADDLE_WITH_GLOO"},
    {.name = "coordinators", .group = servers, .value = "LIST", .paddle = "2.4", .answer = Answer::refused, .note = "federated learning is not part of dtrain"},
    {.name = "coordinator_num", .group = servers, .value = "N", .paddle = "2.4", .answer = Answer::refused, .note = "federated learning is not part of dtrain"},

    {.name = "max_restart", .group = elastic, .value = "N", .help = "Start the job again after a failure, at most N times; a job file goes on from its checkpoints", .field = &O::max_restart, .max = 1'000'000,
     .paddle = "2.4", .overridden_by = "PADDLE_MAX_RESTART", .in_settings = true,
     .note = "works without etcd too, default 0; with --master etcd:// default 3, as in Paddle, and with --elastic_level 1"},
    {.name = "elastic_server", .group = elastic, .value = "HOST:PORT", .help = "etcd where the nodes of an elastic job meet; several separated by commas, https:// for TLS", .field = &O::elastic_server,
     .paddle = "2.2", .note = "PADDLE_ELASTIC_SERVER too; user and certificates: etcdctl's variables, ETCDCTL_USER, ETCDCTL_CACERT, ..."},
    {.name = "np", .group = elastic, .value = "N", .help = "Number of nodes of an elastic job, or MIN:MAX", .field = &O::np,
     .paddle = "2.2", .preset_by = "PADDLE_ELASTIC_NP", .note = "MIN:MAX here too (Paddle: only in PADDLE_ELASTIC_NP); spare nodes wait (Paddle never starts then)"},
    {.name = "elastic_level", .group = elastic, .value = "N", .help = "-1: a node that fails or leaves ends the job; 0: the others wait for another one; 1: also failed programs start again", .field = &O::elastic_level, .min = -1, .max = 1,
     .paddle = "2.4", .overridden_by = "PADDLE_ELASTIC_LEVEL", .note = "default -1; with --elastic_server 0; 1 with --max_restart; no effect without etcd"},
    {.name = "elastic_timeout", .group = elastic, .value = "S", .help = "How long the nodes must stay the same before a job starts with fewer than MAX", .field = &O::elastic_timeout, .max = 864000,
     .paddle = "2.4", .overridden_by = "PADDLE_ELASTIC_TIMEOUT", .note = "with --master etcd:// too few nodes end the job after that time, ten times that for a fixed number"},
    {.name = "elastic_pre_hook", .group = elastic, .value = "CMD", .help = "Shell command on each node before each start", .field = &O::elastic_pre_hook,
     .paddle = "2.3", .note = "when it fails that is said, and the job starts all the same"},
    {.name = "scale", .group = elastic, .value = "N", .help = "Want N nodes more (-N: fewer); without a script the running job is changed", .field = &O::scale,
     .paddle = "2.2", .preset_by = "PADDLE_ELASTIC_SCALE", .note = "to an absolute number: --np N scale, as Paddle's elastic command"},
    {.name = "force", .group = elastic, .help = "This node's --np replaces the job's, and a completed job runs again; clean: although nodes take part", .field = &O::force,
     .paddle = "2.2", .preset_by = "PADDLE_ELASTIC_FORCE", .note = "False means false (Paddle: any text is true)"},
    {.name = "elastic-ttl", .group = own, .value = "S", .help = "Seconds without a word after which a node of an elastic job counts as gone", .field = &O::elastic_ttl, .min = 1, .max = 86400,
     .preset_by = "PADDLE_ELASTIC_TTL", .in_settings = true, .note = "longer where the job could not be stopped within that time"},

    {.name = "dry-run", .group = own, .value = "FORM", .help = "Print the plan as a table (=json: for programs), start nothing", .field = &O::dry_run,
     .choices = choice_texts<PlanForm>(), .alone = "table"},
    {.name = "check", .group = own, .help = "Check the nodes: connections, versions, GPUs, clocks, limits, logs; start nothing", .field = &O::check},
    {.name = "info", .group = own, .help = "Print every option's value and where it came from, start nothing"},
    {.name = "print-completion", .group = own, .value = "SHELL", .help = "Print a completion script: bash or zsh", .choices = {"bash", "zsh"}},
    {.name = "print-man", .group = own, .help = "Print the manual page"},
    {.name = "start-timeout", .group = own, .value = "S", .help = "Seconds that launchers of several nodes wait for each other", .field = &O::start_timeout, .max = 864000, .in_settings = true},
    {.name = "link-port", .group = own, .value = "PORT", .help = "Where the launchers of several nodes meet on node 0 (default: from --job_id and node 0)", .field = &O::link_port, .min = 1, .max = highest_port, .in_settings = true},
    {.name = "visible", .group = own, .value = "HOW", .help = "narrow: ranks see the selected GPUs only; keep: CUDA_VISIBLE_DEVICES stays as it is", .field = &O::visible,
     .choices = choice_texts<VisibleGpus>(), .in_settings = true},
    {.name = "bind", .group = own, .value = "HOW", .help = "auto: cores and memory near the rank's GPU; none: no binding", .field = &O::bind,
     .choices = choice_texts<Binding>(), .in_settings = true},
    {.name = "engine", .group = own, .value = "HOW", .help = "What starts the ranks: mpirun or srun (auto: srun in a Slurm allocation whose nodes are used, else mpirun)", .field = &O::engine,
     .choices = backend_choices(), .in_settings = true},
    {.name = "grace", .group = own, .value = "S", .help = "Seconds between asking a program to stop and killing it", .field = &O::grace, .max = 86400,
     .preset_by = "DTRAIN_GRACE", .in_settings = true},
    {.name = "hang-timeout", .group = own, .value = "S", .help = "Stop the job after S seconds in which no rank printed anything, computed or ended an operation, and say for which rank the others wait; auto: learned, at least 60 s (auto:15: at least 15 s); 0: never (default: auto, and it is only reported)", .field = &O::hang_timeout,
     .preset_by = "DTRAIN_HANG_TIMEOUT", .in_settings = true},
    {.name = "on-hang", .group = own, .value = "WHAT", .help = "What follows when it hangs: stop the job; restart it, at most --max_restart times, which stop does, too, if that is given; report it in a line and go on; dump: also write every rank's last operations beside its log", .field = &O::on_hang,
     .choices = choice_texts<OnHang>(), .in_settings = true},
    {.name = "trace-mpi", .group = own, .help = "Record the programs' calls of MPI, so that a report of a hang can name them", .field = &O::trace_mpi, .in_settings = true},
    {.name = "tee", .group = own, .value = "RANKS", .help = "Show the output of these ranks: 0,2-3 or all (default: rank 0; in ps jobs worker 0)", .field = &O::tee},
    {.name = "quiet", .group = own, .help = "Show no rank's output, no banner, no status line", .field = &O::quiet},
    {.name = "no-banner", .group = own, .help = "On stdout nothing but what ranks print; no status line", .field = &O::no_banner},
    {.name = "env", .group = own, .value = "NAME[=V]", .help = "Set a variable for the programs on all nodes; without =V as it is here; may be repeated", .field = &O::env},
    {.name = "env-file", .group = own, .value = "FILE", .help = "Such variables from a file, one NAME or NAME=VALUE a line", .field = &O::env_file},
    {.name = "setup", .group = own, .value = "CMDS", .help = "Shell commands before the program on every rank, such as 'module load cuda'", .field = &O::setup, .in_settings = true},
    {.name = "wrap", .group = own, .value = "CMD", .help = "Put a profiler or debugger in front of the program; %r is the rank, %h the host", .field = &O::wrap},
    {.name = "wrap-ranks", .group = own, .value = "RANKS", .help = "Only in front of these ranks", .field = &O::wrap_ranks},
    {.name = "log-max-size", .group = own, .value = "SIZE", .help = "Turn logs over at this size (100M); one older part is kept", .field = &O::log_max_size,
     .preset_by = "DTRAIN_LOG_MAX_SIZE", .in_settings = true},
    {.name = "log-mode", .group = own, .value = "MODE", .help = "Permissions of log and report files, octal", .field = &O::log_mode, .max = 0777,
     .preset_by = "DTRAIN_LOG_MODE", .in_settings = true},
    {.name = "trust-log-dir", .group = own, .help = "Take --log_dir also when it belongs to another user, or everybody may change what is in it", .field = &O::trust_log_dir, .in_settings = true},
    {.name = "report", .group = own, .value = "FILE", .help = "Write the outcome for programs, as JSON; FILE.html: a page for people, with placement, timeline, failures and curves", .field = &O::report},
    {.name = "metrics-port", .group = own, .value = "PORT", .help = "Serve the job's metrics to Prometheus at http://127.0.0.1:PORT/metrics, to this machine alone and to all of its users; HOST:PORT, such as 0.0.0.0:9400: to others too, nobody is asked for a password (0: any free port)", .field = &O::metrics_port, .in_settings = true},

    {.name = "time", .group = batch, .value = "TIME", .help = "Time limit: 90 (minutes), 1:30:00, 2-12 (days-hours)", .field = &O::time},
    {.name = "partition", .group = batch, .value = "NAME", .help = "Partition (queue) of the cluster", .field = &O::partition, .in_settings = true},
    {.name = "account", .group = batch, .value = "NAME", .help = "Account that pays", .field = &O::account, .in_settings = true},
    {.name = "cpus", .group = batch, .value = "N", .help = "Processors of each node, for all of its ranks together (default: one for each rank)", .field = &O::cpus, .min = 1, .max = 65536, .in_settings = true},
    {.name = "modules", .group = batch, .value = "NAMES", .help = "Modules to load first: 'cuda nccl'", .field = &O::modules, .in_settings = true},
    {.name = "scheduler", .group = batch, .value = "NAME", .help = "Whose queue: slurm or pbs (auto: PBS where there is qsub and no sbatch)", .field = &O::scheduler,
     .choices = scheduler::choices(), .in_settings = true},
    {.name = "sbatch", .group = batch, .value = "OPTION", .help = "One more option for sbatch, such as --sbatch=--exclusive; may be repeated", .field = &O::sbatch},
    {.name = "qsub", .group = batch, .value = "OPTION", .help = "One more option for qsub, such as --qsub='-W umask=077'; may be repeated", .field = &O::qsub},
    };
    return table;
}
// clang-format on

}  // namespace

std::string_view to_string(OptionGroup group) {
    switch (group) {
        case OptionGroup::base:
            return "Base Parameters";
        case OptionGroup::collective:
            return "Collective Parameters";
        case OptionGroup::parameter_server:
            return "Parameter-Server Parameters";
        case OptionGroup::elastic:
            return "Elastic Parameters";
        case OptionGroup::dtrain:
            return "dtrain";
        case OptionGroup::submit:
            return "dtrain-launch submit";
    }
    return "";
}

std::string_view to_string(Answer answer) {
    switch (answer) {
        case Answer::done:
            return "done";
        case Answer::no_effect:
            return "accepted, no effect";
        case Answer::later:
            return "later";
        case Answer::refused:
            return "refused";
    }
    return "";
}

std::span<const OptionRow> option_table() {
    return rows();
}

std::vector<std::string_view> names_of(const OptionRow& row) {
    std::vector<std::string_view> names{row.name};
    names.insert(names.end(), row.aliases.begin(), row.aliases.end());
    return names;
}

const OptionRow* find_option(std::string_view name) {
    const auto same = [name](std::string_view known) {
        return std::equal(name.begin(), name.end(), known.begin(), known.end(), [](char a, char b) {
            return a == b || (a == '-' && b == '_') || (a == '_' && b == '-');
        });
    };
    for (const auto& row : rows())
        if (same(row.name) || std::any_of(row.aliases.begin(), row.aliases.end(), same)) return &row;
    return nullptr;
}

}  // namespace dtrain::launch
