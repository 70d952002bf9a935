// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/program_environment.hpp"

#include <algorithm>

#include "base/env_table.hpp"
#include "base/text.hpp"
#include "identity/long_value.hpp"
#include "protocol/pbs_threads.hpp"
#include "protocol/server_environment.hpp"

namespace dtrain::cluster {
namespace {

std::string joined(const std::vector<int>& numbers, std::string_view separator) {
    std::vector<std::string> texts;
    texts.reserve(numbers.size());
    for (const int number : numbers) texts.push_back(std::to_string(number));
    return join(texts, separator);
}

void set_or_unset(Environment& out, const char* name, std::string value) {
    if (value.empty())
        out.unset(name);
    else
        out.set(name, std::move(value));
}

void set_list(Environment& out, const char* name, const std::string& value) {
    if (value.size() < max_value)
        out.set(name, value);
    else
        out.unset(name);
}

void remove_internal_variables(Environment& out) {
    // A proxy between ranks breaks libraries that fetch peers' addresses over HTTP; Paddle removes these
    // variables, too.
    for (const char* name : {"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"}) out.unset(name);
    for (const auto& variable : env_table())
        if (variable.group == EnvGroup::dtrain && variable.use != EnvUse::by_programs &&
            variable.name != "DTRAIN_JOB_TOKEN") {
            out.unset(variable.name);
            unset_continuations(out, std::string(variable.name));
        }
}

/// "0:1,2:3" for two ranks with two devices each; nothing if the other nodes' devices are unknown, because a
/// list shorter than the job would be taken for the complete one.
std::string world_device_ids(const ProgramContext& context) {
    const auto size = static_cast<std::size_t>(context.identity.size);
    std::vector<std::string> ranks(size);
    if (!context.selected_devices.empty()) {
        if (context.devices_of_rank.size() != size) return {};
        std::transform(context.devices_of_rank.begin(), context.devices_of_rank.end(), ranks.begin(),
                       [](const auto& devices) { return joined(devices, ":"); });
    }
    return join(ranks, ",");
}

/// Paddle 2.0-2.3 (fleet.launch); 2.4 and later read these, too.
void set_paddle_legacy(Environment& out, const ProgramContext& context) {
    const auto& id = context.identity;
    const auto& trainers = context.endpoints.trainers;
    out.set("PADDLE_TRAINER_ID", std::to_string(id.rank));
    out.set("PADDLE_TRAINERS_NUM", std::to_string(id.size));
    out.set("PADDLE_RANK_IN_NODE", std::to_string(id.local_rank));
    const auto rank = static_cast<std::size_t>(id.rank);
    set_or_unset(out, "PADDLE_CURRENT_ENDPOINT", rank < trainers.size() ? trainers[rank] : "");
    set_list(out, "PADDLE_TRAINER_ENDPOINTS", join(trainers, ","));

    const bool has_devices = !context.selected_devices.empty();
    const auto selected = joined(context.selected_devices, ",");
    set_or_unset(out, "FLAGS_selected_gpus", selected);
    set_or_unset(out, "FLAGS_selected_accelerators", selected);
    out.set("PADDLE_LOCAL_DEVICE_IDS", selected);
    const auto world = world_device_ids(context);
    if (has_devices && world.empty())
        out.unset("PADDLE_WORLD_DEVICE_IDS");
    else
        set_list(out, "PADDLE_WORLD_DEVICE_IDS", world);

    out.set("PADDLE_DISTRI_BACKEND", !context.backend.empty() ? context.backend
                                     : has_devices            ? "nccl"
                                                              : "gloo");
}

void set_gloo(Environment& out, const ProgramContext& context) {
    if (!out.has("PADDLE_WITH_GLOO")) out.set("PADDLE_WITH_GLOO", "0");
    out.set("PADDLE_GLOO_RENDEZVOUS", "3");
    set_or_unset(out, "PADDLE_GLOO_FS_PATH", context.gloo_fs_path);
}

/// Paddle 2.4-3.x (paddle.distributed.launch).
void set_paddle_current(Environment& out, const ProgramContext& context) {
    const auto& id = context.identity;
    set_or_unset(out, "PADDLE_MASTER", context.endpoints.paddle_master);
    out.set("PADDLE_GLOBAL_SIZE", std::to_string(id.size));
    out.set("PADDLE_LOCAL_SIZE", std::to_string(id.local_size));
    out.set("PADDLE_GLOBAL_RANK", std::to_string(id.rank));
    out.set("PADDLE_LOCAL_RANK", std::to_string(id.local_rank));
    out.set("PADDLE_NNODES", std::to_string(id.nodes));
    if (!out.has("PADDLE_AUTO_CLUSTER")) out.set("PADDLE_AUTO_CLUSTER", "0");
    set_or_unset(out, "PADDLE_BACKUP_ENV_PATH", context.backup_env_path);
}

/// paddle.distributed.rpc.
void set_paddle_rpc(Environment& out, const ProgramContext& context) {
    out.set("PADDLE_MASTER_ENDPOINT", context.endpoints.paddle_master);
    out.set("PADDLE_WORKER_ENDPOINT", out.get_or("PADDLE_CURRENT_ENDPOINT", ""));
}

/// https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables
void set_torch(Environment& out, const ProgramContext& context) {
    const auto& id = context.identity;
    out.set("RANK", std::to_string(id.rank));
    out.set("WORLD_SIZE", std::to_string(id.size));
    out.set("LOCAL_RANK", std::to_string(id.local_rank));
    out.set("LOCAL_WORLD_SIZE", std::to_string(id.local_size));
    out.set("GROUP_RANK", std::to_string(id.node_rank));
    set_or_unset(out, "MASTER_ADDR", context.endpoints.master_addr);
    set_or_unset(out, "MASTER_PORT",
                 context.endpoints.master_port > 0 ? std::to_string(context.endpoints.master_port) : "");
}

/// The rest of what torchrun sets.
void set_torchrun(Environment& out, const TorchJob& job, const Identity& id) {
    if (job.virtual_local_rank) out.set("LOCAL_RANK", "0");
    out.set("GROUP_WORLD_SIZE", std::to_string(id.nodes));
    out.set("ROLE_NAME", job.role);
    out.set("ROLE_RANK", std::to_string(id.rank));
    out.set("ROLE_WORLD_SIZE", std::to_string(id.size));
    out.set("TORCHELASTIC_MAX_RESTARTS", std::to_string(job.max_restarts));
    out.set("TORCHELASTIC_RUN_ID", job.run_id);
    // Rank 0 opens the store at MASTER_PORT itself.
    out.set("TORCHELASTIC_USE_AGENT_STORE", "False");
    if (!out.has("TORCHELASTIC_RESTART_COUNT")) out.set("TORCHELASTIC_RESTART_COUNT", "0");
    if (!out.has("TORCH_NCCL_ASYNC_ERROR_HANDLING")) out.set("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
}

void set_compute_resources(Environment& out, const ProgramContext& context) {
    if (out.get_or("OMP_NUM_THREADS", "").empty() || pbs_thread_count_too_high(out, context.threads))
        out.set("OMP_NUM_THREADS", std::to_string(context.threads));
    if (context.selected_devices.empty()) return;
    out.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    if (!context.cuda_visible_devices.empty()) out.set("CUDA_VISIBLE_DEVICES", context.cuda_visible_devices);
}

}  // namespace

Environment program_environment(const Environment& inherited, const ProgramContext& context) {
    Environment out = inherited;
    remove_internal_variables(out);
    if (context.servers) {
        set_server_job(out, context);
    } else {
        set_paddle_legacy(out, context);
        set_paddle_current(out, context);
        if (context.rpc) set_paddle_rpc(out, context);
    }
    set_or_unset(out, "POD_NAME", context.pod_name);
    set_or_unset(out, "PADDLE_LOG_DIR", context.log_dir);
    set_gloo(out, context);
    set_torch(out, context);
    if (context.torch) set_torchrun(out, *context.torch, context.identity);
    set_compute_resources(out, context);
    return out;
}

}  // namespace dtrain::cluster
