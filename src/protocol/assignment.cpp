// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/assignment.hpp"

#include <functional>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/node_fields.hpp"

namespace dtrain::cluster {
namespace {

constexpr char between_ranks = ';';

std::string list(const std::vector<int>& numbers) {
    return fmt::format("{}", fmt::join(numbers, ","));
}

std::vector<int> parse_list(const std::string& name, const std::string& text) {
    std::vector<int> out;
    if (text.empty()) return out;
    for (const auto& part : split(text, ',')) {
        const auto number = parse_int(part);
        if (!number || *number < 0)
            throw UsageError(fmt::format("{}: \"{}\" is no list of numbers", name, text));
        out.push_back(*number);
    }
    return out;
}

int parse_count(const std::string& name, const std::string& text) {
    const auto number = parse_int(text);
    if (!number || *number < 1) throw UsageError(fmt::format("{}: \"{}\" is no number above 0", name, text));
    return *number;
}

CpuSet parse_cpus(const std::string& text) {
    try {
        return CpuSet::parse(text);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("DTRAIN_CPUS: {}", error.what()));
    }
}

}  // namespace

void write_assignments(Environment& environment, const std::vector<std::vector<RankAssignment>>& nodes) {
    const auto put = [&](const char* name, const std::function<std::string(const RankAssignment&)>& field) {
        std::vector<std::string> of_nodes;
        for (const auto& ranks : nodes) {
            std::vector<std::string> fields;
            for (const auto& rank : ranks) fields.push_back(field(rank));
            of_nodes.push_back(fmt::format("{}", fmt::join(fields, std::string(1, between_ranks))));
        }
        environment.set(name, join_node_fields(of_nodes));
    };
    put("DTRAIN_CPUS", [](const RankAssignment& rank) { return rank.cpus.to_string(); });
    put("DTRAIN_NUMA", [](const RankAssignment& rank) { return list(rank.numa_nodes); });
    put("DTRAIN_GPUS", [](const RankAssignment& rank) { return list(rank.devices); });
    put("DTRAIN_THREADS", [](const RankAssignment& rank) { return std::to_string(rank.threads); });
    put("DTRAIN_SHARED", [](const RankAssignment& rank) { return rank.shared ? "1" : "0"; });
    put("DTRAIN_ADAPTER", [](const RankAssignment& rank) { return rank.adapter; });
}

std::optional<std::vector<RankAssignment>> read_assignments(const Environment& environment, int node) {
    const auto field = [&](const char* name) -> std::optional<std::string> {
        const auto all = environment.get(name);
        return all ? std::optional(node_field(name, *all, node)) : std::nullopt;
    };
    const auto cpus = field("DTRAIN_CPUS");
    if (!cpus) return std::nullopt;
    std::vector<RankAssignment> ranks;
    for (const auto& mask : split(*cpus, between_ranks)) ranks.push_back({.cpus = parse_cpus(mask)});
    const auto take = [&](const char* name,
                          const std::function<void(RankAssignment&, const std::string&)>& set) {
        const auto text = field(name);
        if (!text) return;
        const auto fields = split(*text, between_ranks);
        if (fields.size() != ranks.size())
            throw UsageError(
                fmt::format("{}={} has {} fields but DTRAIN_CPUS={} has {}; both come from dtrain-launch: "
                            "unset them when you start dtrain-worker by hand",
                            name, *text, fields.size(), *cpus, ranks.size()));
        for (std::size_t i = 0; i < ranks.size(); ++i) set(ranks[i], fields[i]);
    };
    take("DTRAIN_NUMA", [](auto& rank, auto& text) { rank.numa_nodes = parse_list("DTRAIN_NUMA", text); });
    take("DTRAIN_GPUS", [](auto& rank, auto& text) { rank.devices = parse_list("DTRAIN_GPUS", text); });
    take("DTRAIN_THREADS",
         [](auto& rank, auto& text) { rank.threads = parse_count("DTRAIN_THREADS", text); });
    take("DTRAIN_SHARED", [](auto& rank, auto& text) { rank.shared = text == "1"; });
    take("DTRAIN_ADAPTER", [](auto& rank, auto& text) { rank.adapter = text; });
    return ranks;
}

std::optional<std::vector<std::vector<int>>> read_devices(const Environment& environment, int node) {
    constexpr const char* name = "DTRAIN_GPUS";
    const auto all = environment.get(name);
    if (!all) return std::nullopt;
    std::vector<std::vector<int>> out;
    for (const auto& rank : split(node_field(name, *all, node), between_ranks))
        out.push_back(parse_list(name, rank));
    return out;
}

}  // namespace dtrain::cluster
