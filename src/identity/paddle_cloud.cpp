// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "identity/paddle_cloud.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/contracts.hpp"
#include "identity/endpoints.hpp"
#include "identity/host_name.hpp"

namespace dtrain::cluster {
namespace {

bool is_endpoint(std::string_view text) {
    const auto [host, number] = split_host_and_number(text);
    const int port = parse_int(number.value_or("")).value_or(0);
    return is_host_name(host) && port >= 1 && port <= 65535;
}

}  // namespace

std::optional<PaddleCloud> paddle_cloud(const Environment& environment) {
    for (const char* name : {"PADDLE_TRAINERS", "POD_IP", "PADDLE_TRAINER_ID", "TRAINER_PORTS_NUM"})
        if (!environment.has(name)) return std::nullopt;
    if (environment.get_int("PADDLE_TRAINERS_NUM").value_or(1) == 1) return std::nullopt;

    PaddleCloud out;
    const auto nodes = environment.get_or("PADDLE_TRAINERS", "");
    for (const auto& node : split(nodes, ',')) {
        out.nodes.emplace_back(trimmed(node));
        if (!is_host_name(out.nodes.back()))
            throw UsageError(
                fmt::format("PADDLE_TRAINERS={}: '{}' is no address; correct or unset it", nodes, node));
    }
    out.pod_ip = environment.get_or("POD_IP", "");
    out.node_rank = contract_int(environment, "PADDLE_TRAINER_ID", "PADDLE_TRAINERS");
    out.ports_per_node = contract_int(environment, "TRAINER_PORTS_NUM", "PADDLE_TRAINERS", 1);
    const auto node_count = static_cast<int>(out.nodes.size());
    if (out.node_rank >= node_count)
        throw UsageError(
            fmt::format("PADDLE_TRAINER_ID={} is not below the {} nodes of PADDLE_TRAINERS={}; correct it",
                        out.node_rank, node_count, nodes));

    out.first_port = environment.get_int("PADDLE_PORT", 1);
    if (const auto endpoints = environment.get("DISTRIBUTED_TRAINER_ENDPOINTS");
        endpoints && !endpoints->empty()) {
        out.endpoints = split(*endpoints, ',');
        for (const auto& each : out.endpoints)
            if (!is_endpoint(each))
                throw UsageError(fmt::format(
                    "DISTRIBUTED_TRAINER_ENDPOINTS={}: '{}' must be HOST:PORT; correct or unset it",
                    *endpoints, each));
        if (out.endpoints.size() != out.nodes.size() * static_cast<std::size_t>(out.ports_per_node))
            throw UsageError(
                fmt::format("DISTRIBUTED_TRAINER_ENDPOINTS has {} endpoints, not TRAINER_PORTS_NUM={} for "
                            "each of {} nodes; correct or unset it",
                            out.endpoints.size(), out.ports_per_node, node_count));
    }
    return out;
}

std::vector<std::string> cloud_endpoints(const PaddleCloud& cloud, int ranks_per_node) {
    constexpr int paddles_first_port = 6170;
    if (cloud.endpoints.empty()) {
        const bool use_given =
            cloud.first_port && cloud.nodes.size() > 1 && cloud.ports_per_node >= ranks_per_node;
        return consecutive_endpoints(cloud.nodes, std::vector<int>(cloud.nodes.size(), ranks_per_node),
                                     use_given ? *cloud.first_port : paddles_first_port)
            .trainers;
    }
    if (ranks_per_node > cloud.ports_per_node)
        throw UsageError(
            fmt::format("{} processes per node, but DISTRIBUTED_TRAINER_ENDPOINTS has {} for each node; "
                        "start fewer processes or unset it",
                        ranks_per_node, cloud.ports_per_node));
    std::vector<std::string> out;
    for (std::size_t node = 0; node < cloud.nodes.size(); ++node) {
        const auto first = cloud.endpoints.begin() + static_cast<std::ptrdiff_t>(node) * cloud.ports_per_node;
        out.insert(out.end(), first, first + ranks_per_node);
    }
    return out;
}

}  // namespace dtrain::cluster
