// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/paddle_files.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/json_text.hpp"
#include "base/text.hpp"

namespace dtrain::launch {
namespace {

constexpr const char* form_of_mapping = R"({"ip_ranks": [{"ip": "10.0.0.1", "ranks": [0, 1]}, ...]})";

struct MappedNode {
    std::string ip;
    std::vector<int> ranks;
};

std::string read_named(const char* option, const std::string& path, const ReadFile& read_file) {
    auto content = read_file(path);
    if (!content) throw UsageError(fmt::format("{} {} cannot be read", option, path));
    return std::move(*content);
}

std::string absolute(const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal().string();
}

/// The nodes in the order of their first ranks.
std::vector<MappedNode> mapped_nodes(const std::string& path, const std::string& content) {
    const auto nodes = read_json(content, [](const nlohmann::json& json) {
        std::vector<MappedNode> out;
        for (const auto& each : json.at("ip_ranks"))
            out.push_back({each.at("ip").get<std::string>(), each.at("ranks").get<std::vector<int>>()});
        return out;
    });
    if (!nodes || nodes->empty())
        throw UsageError(fmt::format("--rank_mapping_file {}: it must be like {}", path, form_of_mapping));
    auto out = *nodes;
    for (const auto& node : out)
        if (node.ranks.empty())
            throw UsageError(fmt::format("--rank_mapping_file {}: node {} has no ranks", path, node.ip));
    std::ranges::stable_sort(out, {}, [](const MappedNode& node) { return node.ranks.front(); });
    return out;
}

void check_ranks(const std::string& path, const std::vector<MappedNode>& nodes) {
    int expected = 0;
    for (const auto& node : nodes) {
        if (node.ranks.size() != nodes.front().ranks.size())
            throw UsageError(fmt::format(
                "--rank_mapping_file {}: node {} has {} ranks, node {} has {}; each node must have as many",
                path, nodes.front().ip, nodes.front().ranks.size(), node.ip, node.ranks.size()));
        for (const int rank : node.ranks) {
            if (rank != expected)
                throw UsageError(
                    fmt::format("--rank_mapping_file {}: rank {} of node {} stands where rank {} must: the "
                                "ranks of a node "
                                "follow each other, and count from 0 through all nodes",
                                path, rank, node.ip, expected));
            ++expected;
        }
    }
}

}  // namespace

Options with_rank_mapping(Options options, const ReadFile& read_file) {
    if (!options.enable_auto_mapping) return options;
    if (!options.rank_mapping_file)
        throw UsageError(
            "--enable_auto_mapping: name the ranks of each node with --rank_mapping_file; the planner that "
            "finds "
            "them is Paddle's own");
    const auto& path = *options.rank_mapping_file;
    const auto refuse = [&](const std::string& option) {
        throw UsageError(fmt::format(
            "--rank_mapping_file {} and {} both say where ranks run; give one of them", path, option));
    };
    if (options.ips != Options().ips) refuse("--ips " + options.ips);
    if (options.hostfile) refuse("--hostfile " + *options.hostfile);
    if (options.nproc_per_node) refuse(fmt::format("--nproc_per_node {}", *options.nproc_per_node));
    const auto nodes = mapped_nodes(path, read_named("--rank_mapping_file", path, read_file));
    check_ranks(path, nodes);
    std::vector<std::string> ips;
    for (const auto& node : nodes) ips.push_back(node.ip);
    options.ips = join(ips, ",");
    options.nproc_per_node = static_cast<int>(nodes.front().ranks.size());
    return options;
}

Environment variables_of_paddle_files(const Options& options, const ReadFile& read_file) {
    Environment out;
    if (options.enable_auto_mapping && options.rank_mapping_file) {
        out.set("PADDLE_RANK_MAPPING_PATH", absolute(*options.rank_mapping_file));
        out.set("PADDLE_ENABLE_AUTO_MAPPING", "True");
    }
    if (!options.auto_parallel_config) return out;
    const auto& path = *options.auto_parallel_config;
    const auto tuner =
        read_json(read_named("--auto_parallel_config", path, read_file), [](const nlohmann::json& json) {
            return json.value("tuner_run_mode", std::string("tuner_and_run"));
        });
    if (!tuner) throw UsageError(fmt::format("--auto_parallel_config {} is no JSON object", path));
    if (*tuner == "tuner_only")
        throw UsageError(
            fmt::format("--auto_parallel_config {}: tuner_run_mode is tuner_only, and the tuner is Paddle's "
                        "own; with run_only or "
                        "tuner_and_run the job runs, without the tuner before it",
                        path));
    out.set("PADDLE_AUTO_PARALLEL_CONFIG", absolute(path));
    out.set("PADDLE_AUTO_PARALLEL_STAGE", "run");
    return out;
}

}  // namespace dtrain::launch
