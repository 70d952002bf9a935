// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/options/compatibility.hpp"

#include <array>

#include <fmt/format.h>

#include "launch/options/static_programs.hpp"

namespace dtrain::launch {
namespace {

using V = PaddleVariable;
using F = PaddleFeature;

constexpr auto no_effect = Answer::no_effect;
constexpr auto refused = Answer::refused;

// clang-format off
constexpr std::array variables{
    V{"PADDLE_TRAINER_ID"}, V{"PADDLE_TRAINERS_NUM"}, V{"PADDLE_CURRENT_ENDPOINT"}, V{"PADDLE_TRAINER_ENDPOINTS", true, Answer::done, "from 120 KiB on, which no exec takes, in the file that DTRAIN_ENDPOINTS_FILE names; given to the launcher itself, its hosts become --ips when they are several and POD_IP is one of them"},
    V{"PADDLE_RANK_IN_NODE"}, V{"PADDLE_LOCAL_DEVICE_IDS"}, V{"PADDLE_WORLD_DEVICE_IDS", true, Answer::done, "left out when other nodes' devices are not known"},
    V{"FLAGS_selected_gpus", true, Answer::done, "positions in CUDA_VISIBLE_DEVICES; absent on CPU"}, V{"FLAGS_selected_accelerators"},
    V{"PADDLE_WITH_GLOO"}, V{"PADDLE_GLOO_RENDEZVOUS"}, V{"PADDLE_GLOO_FS_PATH"}, V{"PADDLE_GLOO_HTTP_ENDPOINT", true, Answer::done, "in parameter-server jobs"},
    V{"PADDLE_DISTRI_BACKEND"}, V{"PADDLE_MASTER"}, V{"PADDLE_GLOBAL_SIZE"}, V{"PADDLE_GLOBAL_RANK"}, V{"PADDLE_LOCAL_SIZE"}, V{"PADDLE_LOCAL_RANK"}, V{"PADDLE_NNODES"},
    V{"POD_NAME"}, V{"PADDLE_LOG_DIR"}, V{"PADDLE_AUTO_CLUSTER", true, Answer::done, "0 unless you set it"},
    V{"PADDLE_BACKUP_ENV_PATH", true, refused, "no backup_env.<rank>.json is written: it would hold every secret of the environment"},
    V{"CUDA_VISIBLE_DEVICES", true, Answer::done, "narrowed to the selected GPUs (--visible keep: as it was); CPU workers see none, servers too unless --server_device is gpu"},
    V{"PADDLE_PSERVERS_IP_PORT_LIST"}, V{"TRAINING_ROLE"}, V{"PADDLE_ROLE"}, V{"PADDLE_PORT"}, V{"POD_IP"},
    V{"PADDLE_HETER_TRAINER_IP_PORT_LIST"}, V{"PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST"}, V{"PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST"}, V{"PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST"},
    V{"STAGE_ID"}, V{"STAGE_NUM"}, V{"PADDLE_STAGE_TRAINERS_NUM"}, V{"HETER_DEVICE_TYPE"},
    V{"PADDLE_MASTER_ENDPOINT", true, Answer::done, "--run_mode rpc"}, V{"PADDLE_WORKER_ENDPOINT", true, Answer::done, "--run_mode rpc"},
    V{"PADDLE_RESTART_COUNT", true, Answer::done, "with --max_restart; TORCHELASTIC_RESTART_COUNT too"},
    V{"FLAGS_selected_xpus", true, refused, no_other_devices}, V{"FLAGS_selected_npus", true, refused, no_other_devices}, V{"FLAGS_selected_mlus", true, refused, no_other_devices},
    V{"XPU_VISIBLE_DEVICES", true, refused, no_other_devices}, V{"PADDLE_XCCL_BACKEND", true, refused, no_other_devices},
    V{"PADDLE_COORDINATOR_ENDPOINTS", true, refused, "federated learning is not part of dtrain"},
    V{"PADDLE_CLUSTER_TOPO_PATH", true, refused, "Paddle's own planner is not part of dtrain"}, V{"PADDLE_RANK_MAPPING_PATH", true, Answer::done, "with --rank_mapping_file"}, V{"PADDLE_ENABLE_AUTO_MAPPING", true, Answer::done, "with --enable_auto_mapping"}, V{"PADDLE_AUTO_PARALLEL_STAGE", true, Answer::done, "run, with --auto_parallel_config"},

    V{"PADDLE_RUN_MODE", false}, V{"PADDLE_JOB_ID", false}, V{"PADDLE_DEVICES", false}, V{"PADDLE_NPROC_PER_NODE", false}, V{"PADDLE_LOG_LEVEL", false}, V{"PADDLE_LOG_OVERWRITE", false},
    V{"PADDLE_IPS", false}, V{"PADDLE_START_PORT", false}, V{"PADDLE_RANK", false}, V{"PADDLE_SORT_IP", false}, V{"PADDLE_SERVER_NUM", false}, V{"PADDLE_TRAINER_NUM", false},
    V{"PADDLE_SERVERS_ENDPOINTS", false}, V{"PADDLE_TRAINERS_ENDPOINTS", false}, V{"PADDLE_GLOO_PORT", false}, V{"PADDLE_MAX_RESTART", false},
    V{"FLAGS_START_PORT", false}, V{"PADDLE_NUM_TRAINERS", false, Answer::done, "the handbook's first spelling"},
    V{"PADDLE_TRAINERS", false, Answer::done, "PaddleCloud"}, V{"TRAINER_PORTS_NUM", false, Answer::done, "PaddleCloud"}, V{"DISTRIBUTED_TRAINER_ENDPOINTS", false, Answer::done, "PaddleCloud; elsewhere its hosts become --ips when they are several and POD_IP is one of them"},
    V{"PADDLE_ELASTIC_LEVEL", false}, V{"PADDLE_ELASTIC_TIMEOUT", false, Answer::done, "30 s unless set, in jobs of --elastic_server too (Paddle: 120 s there)"}, V{"PADDLE_ELASTIC_SERVER", false}, V{"PADDLE_ELASTIC_JOB_ID", false},
    V{"PADDLE_ELASTIC_NP", false}, V{"PADDLE_ELASTIC_TTL", false}, V{"PADDLE_ELASTIC_SCALE", false}, V{"PADDLE_ELASTIC_FORCE", false}, V{"PADDLE_ELASTIC_ETCD_SERVICE_HOST", false}, V{"PADDLE_ELASTIC_ETCD_SERVICE_PORT", false},
    V{"PADDLE_ELASTIC_FAULT_TOLERANC_LEVEL", false, no_effect, "--np and --elastic_level tell"},
    V{"PORT_RANGE", false, no_effect, "free ports are taken from 10000 to 29999"}, V{"FLAGS_FIXED_PORT", false, no_effect, "--start_port"}, V{"PADDLE_ENV_LIMIT_LEN", false, no_effect, "the kernel's limit is what counts"},
    V{"WITH_COVERAGE", false, no_effect, "a developer's switch of Paddle"}, V{"FLAGS_print_launcher_env", false, no_effect, "environments are never printed: they hold secrets"},
    V{"PADDLE_AUTO_PARALLEL_CONFIG", false},
    V{"RANK_TABLE_FILE", false, refused, no_other_devices}, V{"FLAGS_MODELARTS", false, refused, no_other_devices},
};

constexpr std::array features{
    F{"banner, Distributed Envs table, \"Local start N processes\", endpoints.log, `ABORT!!!` line", Answer::done, "as the documents print them"},
    F{"`workerlog.<rank>`, `serverlog.<n>`, `heterlog.<n>`, appended", Answer::done, "by global rank, as the documents say (Paddle: by local rank)"},
    F{"rank 0 on the console", Answer::done, "live and byte for byte; in parameter-server jobs worker 0 (Paddle: nothing, or server 0)"},
    F{"exit status", Answer::done, "that of the rank that failed first, always (Paddle: 0, 1, 241 or another rank's)"},
    F{"SIGTERM to the launcher", Answer::done, "143, nothing left running (Paddle: 15, or ranks left running before 2.4)"},
    F{"`kill -9` of the launcher", Answer::done, "nothing left running (Paddle: all ranks)"},
    F{"a failing worker or server of a parameter-server job", Answer::done, "ends the job at once with its status (Paddle: not noticed)"},
    F{"workers done: servers are stopped", Answer::done, "status 0 (Paddle 2.4 and later wait for servers for ever)"},
    F{"GPU of a worker with CUDA_VISIBLE_DEVICES=2,3", Answer::done, "2 or 3 (Paddle: 0 or 1, the wrong cards)"},
    F{"lists that interleave hosts", Answer::done, "the rank is the place in the list (Paddle: it is not)"},
    F{"`--nproc_per_node 3` with 2 GPUs", Answer::done, "one line, status 2 (Paddle: a Python traceback)"},
    F{"options behind the script", Answer::done, "belong to the script (Paddle scans them for its mode)"},
    F{"unknown options", Answer::done, "refused with the nearest known one (Paddle 2.3 and later ignore them)"},
    F{"`http_proxy`, `https_proxy`", Answer::done, "not handed on, as in Paddle"},
    F{"`envlog.<n>`, `backup_env.<rank>.json`, `<job>.<pod>.log`", refused, "they would hold every secret of the environment; --dry-run=json shows what is set"},
    F{"`<job_id>.gpu.log`", no_effect, "no such file is written"},
    F{"`run_check` in place of a script", Answer::done, "trains the built-in example"},
    F{"`ipu` in place of a script", refused, no_other_devices},
    F{"rpc mode", Answer::done, "variables for paddle.distributed.rpc"},
    F{"coordinators", refused, "federated learning is not part of dtrain"},
    F{"exit codes 101 (start this node again) and 3 of a failed elastic job", Answer::done, "with --elastic_server, as in Paddle 2.2 and 2.3; with --master etcd:// the failed program's own"},
    F{"exit code 102 of a program", Answer::done, "in elastic jobs: started again at once"},
    F{"`python -m paddle.distributed.elastic ... scale`, `clean`", Answer::done, "the same words behind dtrain-launch --elastic_server ... --job_id ..."},
    F{"a host name that begins or ends in letters of \"etcd\"", Answer::done, "stays as it is (Paddle cuts it)"},
    F{"operators `gen_comm_id`, `gen_nccl_id`, `c_comm_init`", Answer::done, "in C++: nccl_communicator(), whose id goes over MPI; has not run on a GPU yet (nccl.md)"},
    F{"transpiler mode `nccl2`", Answer::done, "its programs are data parallel ones (servers.md), on CPUs or GPUs (gpu.md)"},
    F{"transpiler `collective_mode`", Answer::done, "`grad_allreduce`, and `local_sgd` with a number of steps (native-jobs.md)"},
    F{"nodes that meet at `--master`", Answer::done, "node 0's launcher listens there"},
    F{"each node executes the script and the arguments of its own command line, in its own folder", Answer::done, "where a launcher runs there; nodes reached by ssh or a scheduler run node 0's"},
    F{"auto-mapping", Answer::done, "with a --rank_mapping_file; Paddle's planner, which makes one, is not part of dtrain"},
    F{"auto-tuner", refused, "it is Paddle's own; --auto_parallel_config is handed on"},
};
// C++ interfaces in place of Python: see docs/layers.md, spawn.md and programs.md.
constexpr std::array interfaces{
    F{"`paddle.Model`: prepare, fit, evaluate, predict, save, load", Answer::done, "`dtrain::Model`; a batch is that of all ranks together"},
    F{"`paddle.callbacks`: `ModelCheckpoint`, `EarlyStopping`, `LRScheduler`, `ReduceLROnPlateau`, `ProgBarLogger`, `VisualDL`", Answer::done, "`Checkpoints`, `EarlyStop`, a schedule for `prepare()` or `RateFunction`, `ReduceOnPlateau`, `ProgressBar`, `TensorBoard`; the rate is in checkpoints"},
    F{"`paddle.nn.Layer`, `Sequential`, `Flatten`, `Linear`, `ReLU`, `Tanh`, `Sigmoid`, `Dropout`", Answer::done, "`dtrain::nn`: [layers.md](layers.md)"},
    F{"`paddle.nn.CrossEntropyLoss`, `MSELoss`, `functional.cross_entropy`, `paddle.metric.accuracy`", Answer::done, "`dtrain::nn`"},
    F{"`loss.backward()`, `optim.step()`, `optim.clear_grad()`", Answer::done, "the same, with every optimizer of dtrain; `nn::Optimizer::zero_grad()`"},
    F{"`paddle.set_device(\"gpu:0\")`, `paddle.get_device()`", Answer::done, "`nn::set_device(Device::gpu(0))` before the first tensor or layer, `nn::get_device()`, or `DTRAIN_DEVICE`; not yet run on a GPU"},
    F{"`paddle.DataParallel(layer)`, `no_sync()`", Answer::done, "`nn::DataParallel`; unused parameters are found without being asked for"},
    F{"`paddle.distributed.init_parallel_env()`", Answer::done, "`dtrain::ParallelEnv`; alone it is a world of one rank (Paddle: an error)"},
    F{"`paddle.distributed.spawn`", Answer::done, "`dtrain::spawn`: [spawn.md](spawn.md)"},
};
// clang-format on

std::string row_of(const OptionRow& row) {
    const auto names = fmt::format("`--{}`", fmt::join(names_of(row), "`, `--"));
    std::string text(row.note);
    if (text.empty()) text = row.help;
    if (!row.overridden_by.empty() && row.answer == Answer::done)
        text += fmt::format("{}`{}` overrides it", text.empty() ? "" : "; ", row.overridden_by);
    return fmt::format("| {} | {} | {} | {} |\n", names, row.paddle.empty() ? "dtrain" : row.paddle,
                       to_string(row.answer), text);
}

std::string option_tables() {
    std::string out;
    for (const auto group : option_groups) {
        out += fmt::format("\n### {}\n\n| option | since | dtrain-launch | |\n|---|---|---|---|\n",
                           to_string(group));
        for (const auto& row : option_table())
            if (row.group == group) out += row_of(row);
    }
    return out;
}

std::string variable_table(bool given) {
    std::string out = "| variable | dtrain | |\n|---|---|---|\n";
    for (const auto& variable : variables)
        if (variable.given == given)
            out +=
                fmt::format("| `{}` | {} | {} |\n", variable.name, to_string(variable.answer), variable.note);
    return out;
}

std::string rows(std::span<const PaddleFeature> table) {
    std::string out;
    for (const auto& each : table)
        out += fmt::format("| {} | {} | {} |\n", each.what, to_string(each.answer), each.note);
    return out;
}

}  // namespace

std::span<const PaddleVariable> paddle_variables() {
    return variables;
}

std::span<const PaddleFeature> paddle_features() {
    return features;
}

std::string compatibility_markdown() {
    std::string out = R"(<!-- Generated from src/launch: ninja update-docs -->
# Paddle's command lines and variables, and what dtrain does

*done*: works; *accepted, no effect*: there is nothing for it to change; *later*: refused today with one line and exit
status 2; *refused*: likewise, for good. "since" is the Paddle release that has the option.

## Options of fleetrun and paddle.distributed.launch
)";
    out += option_tables();
    out +=
        "\n## Variables given to programs\n\nAll of them, with their meanings: "
        "[environment.md](environment.md).\n\n";
    out += variable_table(true);
    out += "\n## Variables that the launcher reads\n\n";
    out += variable_table(false);
    out += "\n## Behaviour\n\n| Paddle | dtrain | |\n|---|---|---|\n";
    out += rows(features);
    out += "\n## Programs\n\n| Paddle, in Python | dtrain, in C++ | |\n|---|---|---|\n";
    out += rows(interfaces);
    out +=
        "\n### Static graph and fleet\n\n`fluid`, `paddle.static`, `paddle.distributed.fleet`; the names of "
        "dtrain are "
        "of its namespace `dtrain`. A whole program: [programs.md](programs.md#a-loop-of-your-own).\n\n"
        "| Paddle, in Python | dtrain, in C++ | |\n|---|---|---|\n";
    out += rows(static_program_features());
    return out;
}

}  // namespace dtrain::launch
