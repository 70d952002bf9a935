// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/mode.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <dtrain/cluster.hpp>
#include <dtrain/error.hpp>

#include "identity/paddle_cloud.hpp"
#include "launch/options/server_options.hpp"
#include "launch/plan/rendezvous_point.hpp"

namespace dtrain::launch {
namespace {

void refuse_server_options(const Options& options, RunMode mode) {
    for (const auto& option : server_options(options))
        if (!has_servers(mode) || (option.heterogeneous && mode != RunMode::heterogeneous))
            throw UsageError(fmt::format("{} belongs to --run_mode {}, not to {}; remove one of them",
                                         option.text, option.heterogeneous ? "ps-heter" : "ps",
                                         to_string(mode)));
}

void refuse_collective_options(const Options& options) {
    constexpr const char* members = "a parameter-server job names its nodes in --servers and --workers";
    const Options defaults;
    const auto refuse = [](const std::string& words, const char* instead) {
        throw UsageError(fmt::format("{} belongs to collective jobs; {}", words, instead));
    };
    if (options.nproc_per_node)
        refuse(fmt::format("--nproc_per_node {}", *options.nproc_per_node),
               "a parameter-server job counts --worker_num");
    if (options.ips != defaults.ips) refuse("--ips " + options.ips, members);
    if (options.hostfile) refuse("--hostfile " + *options.hostfile, members);
    if (options.nnodes != defaults.nnodes && nodes_at_master(options) == 0)
        refuse(
            "--nnodes " + options.nnodes,
            "a parameter-server job names its nodes in --servers and --workers, or has them meet at --master "
            "ip:port");
    if (options.backend != defaults.backend)
        refuse("--backend " + to_string(options.backend), "remove it, or the options of servers and workers");
}

void require_members(const Options& options, RunMode mode) {
    const auto need = [&](bool given, const char* what, const char* number, const char* list) {
        if (given) return;
        const auto option =
            options.run_mode ? "--run_mode " + to_string(mode) : server_options(options).front().text;
        throw UsageError(
            fmt::format("{} makes this a parameter-server job, which needs {}: {} N on this "
                        "machine, or {} ip:port,...",
                        option, what, number, list));
    };
    need(options.server_num || !options.servers.empty(), "servers", "--server_num", "--servers");
    need(options.worker_num || !options.workers.empty(), "workers", "--worker_num", "--workers");
    if (mode == RunMode::heterogeneous)
        need(!options.heter_worker_num.empty() || !options.heter_workers.empty(), "heterogeneous workers",
             "--heter_worker_num", "--heter_workers");
}

RunMode mode_given(const Options& options) {
    if (options.run_mode) return *options.run_mode;
    const auto given = server_options(options);
    if (given.empty()) return RunMode::collective;
    return std::any_of(given.begin(), given.end(),
                       [](const ServerOption& option) { return option.heterogeneous; })
               ? RunMode::heterogeneous
               : RunMode::parameter_server;
}

}  // namespace

bool has_servers(RunMode mode) {
    return mode == RunMode::parameter_server || mode == RunMode::heterogeneous;
}

RunMode decide_mode(const Options& options) {
    const auto mode = mode_given(options);
    refuse_server_options(options, mode);
    if (has_servers(mode)) {
        refuse_collective_options(options);
        require_members(options, mode);
    }
    if (mode == RunMode::heterogeneous && nodes_at_master(options) > 0)
        throw UsageError(
            fmt::format("--nnodes {}: nodes of a heterogeneous job cannot meet at --master; name them in "
                        "--servers, --workers "
                        "and --heter_workers",
                        options.nnodes));
    return mode;
}

bool runs_once_on_cloud(const Options& options, const Environment& environment) {
    return has_servers(mode_given(options)) && cluster::paddle_cloud(environment).has_value();
}

}  // namespace dtrain::launch
