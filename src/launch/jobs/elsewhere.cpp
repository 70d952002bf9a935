// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/elsewhere.hpp"

#include <chrono>

#include <fmt/format.h>

#include "base/shell_args.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "identity/host_name.hpp"
#include "scheduler/registry.hpp"

namespace dtrain::launch {
namespace {

constexpr std::chrono::seconds ssh_limit{10};

/// Never prompts, fails if the machine does not answer, and notices if it stops answering later.
std::vector<std::string> ssh_args(const std::string& host) {
    return {"ssh", "-x",
            "-o",  "BatchMode=yes",
            "-o",  "ConnectTimeout=5",
            "-o",  "ServerAliveInterval=5",
            "-o",  "LogLevel=ERROR",
            "--",  host};
}

}  // namespace

std::vector<std::string> command_by_ssh(const std::string& host, const std::filesystem::path& folder,
                                        const std::vector<std::string>& args) {
    auto command = ssh_args(host);
    auto line = "env DTRAIN_JOBS_DIR=" + shell_quoted(folder.string());
    for (const auto& arg : args) line += " " + shell_quoted(arg);
    command.push_back(line);
    return command;
}

Way::Way(const JobRecord& record, const std::filesystem::path& folder, const Environment& environment)
    : record_(record), folder_(folder), environment_(environment) {
    if (!cluster::is_host(record.host)) {
        obstacle_ = fmt::format("its record names \"{}\" as its launcher's machine, which is no host name",
                                one_line(record.host, 300));
        return;
    }
    std::string complaint = "there is no ssh";
    if (find_in_path("ssh", environment)) {
        auto args = ssh_args(record.host);
        args.emplace_back("true");
        const auto answer = run_and_capture({.argv = args, .environment = environment}, ssh_limit);
        by_ssh_ = answer.status.success();
        if (by_ssh_) return;
        complaint = "ssh says: " + one_line(trimmed(answer.err), 300);
    }
    if (!command_of_scheduler({}).empty()) return;
    obstacle_ = fmt::format("its launcher runs on {}, which cannot be reached from here ({})", record.host,
                            complaint);
}

std::vector<std::string> Way::command(const std::vector<std::string>& args) const {
    return by_ssh_ ? command_by_ssh(record_.host, folder_, args) : command_of_scheduler(args);
}

/// Empty if the scheduler cannot do that here.
std::vector<std::string> Way::command_of_scheduler(const std::vector<std::string>& args) const {
    const auto* scheduler = scheduler::find(record_.scheduler);
    auto command = scheduler != nullptr
                       ? scheduler->command_on_node(record_.host, record_.scheduler_job, args)
                       : std::vector<std::string>{};
    if (command.empty() || !find_in_path(command.front(), environment_)) return {};
    return command;
}

}  // namespace dtrain::launch
