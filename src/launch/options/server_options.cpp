// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/options/server_options.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace dtrain::launch {

std::vector<ServerOption> server_options(const Options& options) {
    std::vector<ServerOption> given;
    const auto add = [&](const char* name, const std::string& value, bool heterogeneous = false,
                         bool reports_members = true) {
        if (!value.empty())
            given.push_back({fmt::format("{} {}", name, value), heterogeneous, reports_members});
    };
    const auto text = [](std::optional<int> number) {
        return number ? std::to_string(*number) : std::string();
    };
    add("--server_num", text(options.server_num));
    add("--servers", options.servers);
    add("--worker_num", text(options.worker_num));
    add("--workers", options.workers);
    add("--server_device",
        options.server_device == Options().server_device ? "" : to_string(options.server_device), false,
        false);
    add("--heter_worker_num", options.heter_worker_num, true);
    add("--heter_workers", options.heter_workers, true);
    add("--heter_devices", options.heter_devices, true);
    add("--http_port", text(options.http_port), false, false);
    return given;
}

bool has_one_server_and_worker(const Options& options) {
    const auto given = server_options(options);
    return options.run_mode == RunMode::parameter_server &&
           std::all_of(given.begin(), given.end(), [](const ServerOption& option) {
               return !option.heterogeneous && !option.reports_members;
           });
}

}  // namespace dtrain::launch
