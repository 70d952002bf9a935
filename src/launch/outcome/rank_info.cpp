// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/outcome/rank_info.hpp"

#include <utility>

#include <fmt/format.h>

#include "launch/backend/registry.hpp"
#include "protocol/torch_job.hpp"

namespace dtrain::launch {

std::set<int> service_ranks_of(const Plan& plan) {
    std::set<int> out;
    if (!plan.servers) return out;
    for (const auto* rank : plan.ranks())
        if (rank->role != cluster::Role::worker) out.insert(rank->rank);
    return out;
}

std::vector<int> first_ranks_of_nodes(const Plan& plan) {
    std::vector<int> ranks;
    if (plan.nodes.size() == 1) return ranks;
    for (const auto& node : plan.nodes) ranks.push_back(node.ranks.front().rank);
    return ranks;
}

std::vector<RankInfo> info_of(const Plan& plan, const std::string& own_name,
                              std::optional<int> torch_attempt) {
    std::vector<RankInfo> info(static_cast<std::size_t>(plan.size()));
    const auto names = backend_named(plan.engine).node_names(plan);
    for (std::size_t node = 0; node < plan.nodes.size(); ++node) {
        const bool is_local = plan.own_node && *plan.own_node == static_cast<int>(node);
        const auto& log_dir = plan.nodes[node].log_dir.empty() ? plan.log_dir : plan.nodes[node].log_dir;
        for (const auto& rank : plan.nodes[node].ranks) {
            auto log = fmt::format("{}/{}", log_dir, cluster::log_name(rank.role, rank.index));
            std::string other_log;
            if (torch_attempt) {
                const auto folder =
                    fmt::format("{}/{}", log_dir, cluster::torch_log_folder(*torch_attempt, rank.local_rank));
                log = fmt::format("{}/{}", folder, cluster::torch_stderr_log);
                other_log = fmt::format("{}/{}", folder, cluster::torch_stdout_log);
            }
            info[static_cast<std::size_t>(rank.rank)] = {.role = to_string(rank.role),
                                                         .number = rank.index,
                                                         .node = plan.nodes[node].host,
                                                         .host = is_local ? own_name : plan.nodes[node].host,
                                                         .is_local = is_local,
                                                         .local_rank = rank.local_rank,
                                                         .gpus = rank.gpus,
                                                         .log = std::move(log),
                                                         .other_log = std::move(other_log),
                                                         .backend_name = names[node]};
        }
    }
    return info;
}

}  // namespace dtrain::launch
