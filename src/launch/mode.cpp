// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/mode.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::launch {
namespace {

struct Given {
    const char* name;
    bool given;
    bool heterogeneous = false;
};

std::vector<Given> server_options(const Options& options) {
    return {{"--server_num", options.server_num.has_value()},
            {"--servers", !options.servers.empty()},
            {"--worker_num", options.worker_num.has_value()},
            {"--workers", !options.workers.empty()},
            {"--heter_worker_num", !options.heter_worker_num.empty(), true},
            {"--heter_workers", !options.heter_workers.empty(), true},
            {"--heter_devices", !options.heter_devices.empty(), true},
            {"--http_port", options.http_port.has_value()}};
}

void refuse_foreign(const Options& options, RunMode mode) {
    for (const auto& option : server_options(options)) {
        if (!option.given || (has_servers(mode) && (!option.heterogeneous || mode == RunMode::heterogeneous)))
            continue;
        throw UsageError(fmt::format("{} belongs to --run_mode {}, not to {}; remove one of them",
                                     option.name, option.heterogeneous ? "ps-heter" : "ps", to_string(mode)));
    }
    if (has_servers(mode) && options.nproc_per_node)
        throw UsageError(fmt::format(
            "--nproc_per_node {} belongs to collective jobs; a parameter-server job counts --worker_num",
            *options.nproc_per_node));
}

void require_members(const Options& options, RunMode mode) {
    const auto need = [&](bool given, const char* what, const char* number, const char* list) {
        if (!given)
            throw UsageError(fmt::format("--run_mode {} needs {}: {} N on this machine, or {} ip:port,...",
                                         to_string(mode), what, number, list));
    };
    need(options.server_num || !options.servers.empty(), "servers", "--server_num", "--servers");
    need(options.worker_num || !options.workers.empty(), "workers", "--worker_num", "--workers");
    if (mode == RunMode::heterogeneous)
        need(!options.heter_worker_num.empty() || !options.heter_workers.empty(), "heterogeneous workers",
             "--heter_worker_num", "--heter_workers");
}

RunMode mode_told(const Options& options) {
    if (options.run_mode == "collective") return RunMode::collective;
    if (options.run_mode == "ps") return RunMode::parameter_server;
    if (options.run_mode == "ps-heter") return RunMode::heterogeneous;
    if (options.run_mode == "rpc") return RunMode::rpc;
    const auto given = server_options(options);
    const auto any = [&](auto&& matters) {
        return std::any_of(given.begin(), given.end(),
                           [&](const Given& option) { return option.given && matters(option); });
    };
    if (any([](const Given& option) { return option.heterogeneous; })) return RunMode::heterogeneous;
    return any([](const Given&) { return true; }) ? RunMode::parameter_server : RunMode::collective;
}

}  // namespace

std::string to_string(RunMode mode) {
    switch (mode) {
        case RunMode::collective:
            return "collective";
        case RunMode::parameter_server:
            return "ps";
        case RunMode::heterogeneous:
            return "ps-heter";
        case RunMode::rpc:
            return "rpc";
    }
    return "";
}

bool has_servers(RunMode mode) {
    return mode == RunMode::parameter_server || mode == RunMode::heterogeneous;
}

RunMode decide_mode(const Options& options) {
    const auto mode = mode_told(options);
    refuse_foreign(options, mode);
    if (has_servers(mode)) require_members(options, mode);
    return mode;
}

}  // namespace dtrain::launch
