// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/worker_environment.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.hpp"
#include "identity/address.hpp"
#include "identity/endpoint_list.hpp"
#include "identity/long_value.hpp"
#include "identity/node_fields.hpp"
#include "protocol/rank_contract.hpp"
#include "protocol/server_environment.hpp"

namespace dtrain::launch {
namespace {

/// Variables whose values are known only after a machine has been inspected.
constexpr std::array<const char*, 5> of_known_machines{"DTRAIN_CPUS", "DTRAIN_NUMA", "DTRAIN_THREADS",
                                                       "DTRAIN_SHARED", "DTRAIN_ADAPTER"};

/// The GPUs of the job, to nodes that have been inspected by their names, to others by their positions.
void select_gpus(cluster::RankContract& contract, const Plan& plan) {
    if (!plan.narrow) return;
    if (plan.nodes_place_themselves) {
        if (plan.gpus_of_node > 0)
            contract.selected_gpus = plan.selected_positions.empty()
                                         ? "all"
                                         : fmt::format("{}", fmt::join(plan.selected_positions, ","));
        return;
    }
    std::vector<std::string> visible;
    for (const auto& node : plan.nodes) visible.push_back(node.cuda_visible_devices);
    const bool any_visible = std::ranges::any_of(visible, [](const auto& gpus) { return !gpus.empty(); });
    if (any_visible) contract.visible_gpus = cluster::join_node_fields(visible);
}

cluster::RankContract contract_of(const Plan& plan, const Options& options) {
    cluster::RankContract contract{
        .sends_events = true,
        .binds = plan.bind,
        .run_mode = plan.mode,
        .network_interface = options.network_interface,
    };
    if (plan.nodes.size() > 1) contract.sends_output = true;
    if (options.backend != ProgramBackend::automatic) contract.backend = to_string(options.backend);
    if (options.torch) contract.torch = options.torch->job;
    if (plan.followed) contract.working_folder = plan.working_dir;
    select_gpus(contract, plan);
    return contract;
}

/// "a:8,b:8".
std::string hosts_with_slots(const Plan& plan) {
    std::vector<std::string> out;
    for (const auto& node : plan.nodes)
        out.push_back(plan.nodes.size() == 1
                          ? node.host
                          : cluster::format_address(node.host, static_cast<int>(node.ranks.size())));
    return join(out, ",");
}

}  // namespace

Environment worker_environment(const Plan& plan, const Options& options, const std::string& token,
                               bool as_root) {
    Environment out;
    contract_of(plan, options).write(out);
    out.set("DTRAIN_JOB_ID", plan.job_id + "." + token.substr(0, 8));
    out.set("DTRAIN_JOB_TOKEN", token);
    if (plan.servers)
        cluster::write_server_job(out, *plan.servers);
    else
        cluster::set_long(out, "DTRAIN_ENDPOINTS", cluster::endpoint_list(plan.endpoints.trainers));
    if (options.with_gloo) out.set("PADDLE_WITH_GLOO", std::to_string(*options.with_gloo));
    out.set("DTRAIN_MASTER", plan.endpoints.paddle_master);
    out.set("DTRAIN_TORCH_MASTER",
            cluster::format_address(plan.endpoints.master_addr, plan.endpoints.master_port));
    cluster::set_long(out, "DTRAIN_HOSTS", hosts_with_slots(plan));
    if (!plan.is_numbered_by_node()) {
        std::vector<std::string> nodes;
        for (const int node : plan.nodes_of_ranks()) nodes.push_back(std::to_string(node));
        cluster::set_long(out, "DTRAIN_NODES_OF_RANKS", cluster::join_node_fields(nodes));
    }
    std::vector<std::vector<cluster::RankAssignment>> assignments;
    for (const auto& node : plan.nodes) {
        assignments.emplace_back();
        for (const auto& rank : node.ranks) assignments.back().push_back(rank.assignment);
    }
    cluster::write_assignments(out, assignments);
    if (plan.nodes_place_themselves)
        for (const char* name : of_known_machines) out.unset(name);
    if (as_root) {
        // Containers run as root; who starts dtrain-launch as root has made that choice.
        out.set("OMPI_ALLOW_RUN_AS_ROOT", "1");
        out.set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    return out;
}

}  // namespace dtrain::launch
