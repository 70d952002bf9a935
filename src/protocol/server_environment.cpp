// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/server_environment.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/address.hpp"
#include "identity/endpoint_list.hpp"
#include "identity/long_value.hpp"

namespace dtrain::cluster {
namespace {

std::string all_of_stages(const ServerJob& job, std::string_view separator) {
    std::vector<std::string> stages;
    for (const auto& stage : job.stages) stages.push_back(join(stage.endpoints, ","));
    return join(stages, separator);
}

/// The addresses of a stage; the workers are stage 1. "" for a stage that does not exist.
std::string stage_endpoints(const ServerJob& job, int stage) {
    if (stage == 1) return join(job.workers, ",");
    const auto index = static_cast<std::size_t>(stage - 2);
    return stage >= 2 && index < job.stages.size() ? join(job.stages[index].endpoints, ",") : "";
}

/// "[2, 2, 1]": Paddle evaluates it with Python's eval.
std::string workers_of_stages(const ServerJob& job) {
    std::vector<std::string> counts{std::to_string(job.workers.size())};
    for (const auto& stage : job.stages) counts.push_back(std::to_string(stage.endpoints.size()));
    return "[" + join(counts, ", ") + "]";
}

std::string paddle_role(Role role) {
    switch (role) {
        case Role::server:
            return "PSERVER";
        case Role::heter_worker:
            return "HETER_TRAINER";
        default:
            return "TRAINER";
    }
}

/// Sets or unsets every variable, so that none is inherited from an enclosing job: Paddle derives its modes
/// from them.
void set_stages(Environment& out, const ServerJob& job, const Member& member) {
    for (const char* name : {"PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST", "STAGE_ID", "STAGE_NUM",
                             "PADDLE_STAGE_TRAINERS_NUM", "PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST",
                             "PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST", "HETER_DEVICE_TYPE"})
        out.unset(name);
    const auto all = all_of_stages(job, ",");
    out.set("PADDLE_HETER_TRAINER_IP_PORT_LIST", all);
    if (job.stages.empty()) return;
    out.set("PADDLE_ALL_HETER_TRAINER_IP_PORT_LIST", all);
    if (member.role == Role::server) return;
    const bool later_stage = member.stage >= 2;
    out.set("STAGE_ID", std::to_string(member.stage));
    out.set("STAGE_NUM", std::to_string(job.stages.size() + 1));
    out.set("PADDLE_STAGE_TRAINERS_NUM", workers_of_stages(job));
    out.set("PADDLE_PREVIOUS_HETER_TRAINER_IP_PORT_LIST",
            later_stage ? stage_endpoints(job, member.stage - 1) : "");
    out.set("PADDLE_NEXT_HETER_TRAINER_IP_PORT_LIST", stage_endpoints(job, member.stage + 1));
    out.set("HETER_DEVICE_TYPE",
            later_stage ? job.stages[static_cast<std::size_t>(member.stage - 2)].device : "cpu");
}

void set_devices(Environment& out, const ProgramContext& context) {
    if (context.selected_devices.empty()) {
        // On a node with GPUs, or with a list of them: ranks without GPUs must not use them.
        out.set("CUDA_VISIBLE_DEVICES", "");
        out.unset("FLAGS_selected_gpus");
        return;
    }
    std::vector<std::string> positions;
    for (const int device : context.selected_devices) positions.push_back(std::to_string(device));
    out.set("FLAGS_selected_gpus", join(positions, ","));
}

}  // namespace

std::string to_string(Role role) {
    switch (role) {
        case Role::trainer:
            return "trainer";
        case Role::server:
            return "server";
        case Role::worker:
            return "worker";
        case Role::heter_worker:
            return "heter_worker";
    }
    return "";
}

std::string log_name(Role role, int index) {
    const char* kind = role == Role::server ? "server" : role == Role::heter_worker ? "heter" : "worker";
    return fmt::format("{}log.{}", kind, index);
}

Member member_of(const ServerJob& job, int rank) {
    const auto wanted = rank;
    int first = 0;
    const auto within = [&](const std::vector<std::string>& endpoints) {
        if (rank >= first && rank < first + static_cast<int>(endpoints.size())) return true;
        first += static_cast<int>(endpoints.size());
        return false;
    };
    const auto at = [&](const std::vector<std::string>& endpoints) {
        return endpoints[static_cast<std::size_t>(rank - first)];
    };
    if (within(job.servers))
        return {.role = Role::server, .index = rank - first, .endpoint = at(job.servers)};
    if (within(job.workers))
        return {.role = Role::worker, .index = rank - first, .stage = 1, .endpoint = at(job.workers)};
    const int before_stages = first;
    for (std::size_t stage = 0; stage < job.stages.size(); ++stage)
        if (within(job.stages[stage].endpoints))
            return {.role = Role::heter_worker,
                    .index = rank - before_stages,
                    .stage = static_cast<int>(stage) + 2,
                    .endpoint = at(job.stages[stage].endpoints)};
    throw UsageError(fmt::format("rank {} is none of the {} servers and workers of this job", wanted, first));
}

void set_server_job(Environment& out, const ProgramContext& context) {
    const auto& job = *context.servers;
    const auto member = member_of(job, context.identity.rank);
    const auto address = parse_address(member.endpoint);
    out.set("PADDLE_PSERVERS_IP_PORT_LIST", join(job.servers, ","));
    out.set("PADDLE_TRAINER_ENDPOINTS", join(job.workers, ","));
    out.set("PADDLE_TRAINERS_NUM", std::to_string(job.workers.size()));
    out.set("PADDLE_NNODES", std::to_string(context.identity.nodes));
    out.set("TRAINING_ROLE", paddle_role(member.role));
    out.set("PADDLE_ROLE", paddle_role(member.role));
    out.set("POD_IP", address.host);
    out.set("PADDLE_PORT", std::to_string(address.port.value_or(0)));
    if (member.role == Role::worker)
        out.set("PADDLE_TRAINER_ID", std::to_string(member.index));
    else
        out.unset("PADDLE_TRAINER_ID");
    out.set("PADDLE_GLOO_HTTP_ENDPOINT", job.gloo_endpoint);
    set_stages(out, job, member);
    set_devices(out, context);
}

void write_server_job(Environment& environment, const ServerJob& job) {
    set_long(environment, "DTRAIN_SERVERS", endpoint_list(job.servers));
    set_long(environment, "DTRAIN_WORKERS", endpoint_list(job.workers));
    environment.set("DTRAIN_GLOO_ENDPOINT", job.gloo_endpoint);
    if (job.stages.empty()) return;
    std::vector<std::string> devices;
    for (const auto& stage : job.stages) devices.push_back(stage.device);
    environment.set("DTRAIN_HETER_WORKERS", all_of_stages(job, ";"));
    environment.set("DTRAIN_HETER_DEVICES", join(devices, ";"));
}

std::optional<ServerJob> read_server_job(const Environment& environment) {
    const auto servers = get_long(environment, "DTRAIN_SERVERS");
    if (!servers) return std::nullopt;
    ServerJob job{.servers = parse_endpoint_list(*servers),
                  .workers = parse_endpoint_list(get_long(environment, "DTRAIN_WORKERS").value_or("")),
                  .gloo_endpoint = environment.get_or("DTRAIN_GLOO_ENDPOINT", "")};
    const auto stages = environment.get("DTRAIN_HETER_WORKERS");
    if (!stages) return job;
    const auto endpoints = split(*stages, ';');
    const auto devices = split(environment.get_or("DTRAIN_HETER_DEVICES", ""), ';');
    if (devices.size() != endpoints.size())
        throw UsageError(fmt::format("DTRAIN_HETER_DEVICES names {} stages, DTRAIN_HETER_WORKERS {}",
                                     devices.size(), endpoints.size()));
    for (std::size_t stage = 0; stage < endpoints.size(); ++stage)
        job.stages.push_back({.device = devices[stage], .endpoints = split(endpoints[stage], ',')});
    return job;
}

}  // namespace dtrain::cluster
