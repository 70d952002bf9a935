// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/backend/worker_environment.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cluster/address.hpp"
#include "cluster/endpoint_list.hpp"
#include "cluster/long_value.hpp"
#include "cluster/node_fields.hpp"
#include "cluster/server_environment.hpp"

namespace dtrain::launch {
namespace {

/// Variables whose values are known only after a machine has been inspected.
constexpr std::array<const char*, 6> of_known_machines{"DTRAIN_CPUS",   "DTRAIN_NUMA",    "DTRAIN_THREADS",
                                                       "DTRAIN_SHARED", "DTRAIN_ADAPTER", "DTRAIN_VISIBLE"};

void let_nodes_place_themselves(Environment& out, const Plan& plan) {
    for (const char* name : of_known_machines) out.unset(name);
    if (plan.narrow && plan.gpus_of_node > 0)
        out.set("DTRAIN_SELECT", plan.selected_positions.empty()
                                     ? "all"
                                     : fmt::format("{}", fmt::join(plan.selected_positions, ",")));
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
    out.set("DTRAIN_EVENTS", "1");
    if (plan.nodes.size() > 1) out.set("DTRAIN_TELL_OUTPUT", "1");
    if (plan.followed) out.set("DTRAIN_WORKING_DIR", plan.working_dir);
    out.set("DTRAIN_JOB_ID", plan.job_id + "." + token.substr(0, 8));
    out.set("DTRAIN_JOB_TOKEN", token);
    out.set("DTRAIN_BIND", plan.bind ? "apply" : "none");
    out.set("DTRAIN_RUN_MODE", to_string(plan.mode));
    if (plan.servers)
        cluster::write_server_job(out, *plan.servers);
    else
        cluster::set_long(out, "DTRAIN_ENDPOINTS", cluster::endpoint_list(plan.endpoints.trainers));
    if (options.backend != "auto") out.set("DTRAIN_BACKEND", options.backend);
    if (options.network_interface) out.set("DTRAIN_NETWORK_INTERFACE", *options.network_interface);
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
    std::vector<std::string> visible;
    std::vector<std::vector<cluster::RankAssignment>> assignments;
    for (const auto& node : plan.nodes) {
        visible.push_back(node.cuda_visible_devices);
        assignments.emplace_back();
        for (const auto& rank : node.ranks) assignments.back().push_back(rank.assignment);
    }
    const bool any_visible =
        std::any_of(visible.begin(), visible.end(), [](const auto& gpus) { return !gpus.empty(); });
    if (plan.narrow && any_visible) out.set("DTRAIN_VISIBLE", cluster::join_node_fields(visible));
    cluster::write_assignments(out, assignments);
    if (plan.nodes_place_themselves) let_nodes_place_themselves(out, plan);
    if (as_root) {
        // Containers run as root; who starts dtrain-launch as root has made that choice.
        out.set("OMPI_ALLOW_RUN_AS_ROOT", "1");
        out.set("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    return out;
}

}  // namespace dtrain::launch
