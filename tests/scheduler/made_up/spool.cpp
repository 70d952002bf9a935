// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "scheduler/made_up/spool.hpp"

#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "base/text.hpp"
#include "scheduler/batch_script.hpp"

namespace dtrain::tests {
namespace {

std::filesystem::path folder_of(const Environment& environment) {
    return environment.get_or("SPOOL_DIR", "/nonexistent");
}

}  // namespace

std::string Spool::job_id(const Environment& environment) const {
    return environment.get_or("SPOOL_JOB", "");
}

std::optional<scheduler::Allocation> Spool::allocation(const Environment& environment,
                                                       const scheduler::ReadFile&) const {
    const auto nodes = environment.get("SPOOL_NODES");
    if (job_id(environment).empty() || !nodes) return std::nullopt;
    scheduler::Allocation out{.job_id = job_id(environment), .scheduler = "Spool"};
    for (const auto& host : split(*nodes, ' ')) out.nodes.push_back({.host = host, .slots = 2});
    out.task_count_requested = true;
    return out;
}

std::string Spool::script(const scheduler::JobRequest& request) const {
    scheduler::further_lines(request, *this, "");
    return scheduler::script_begin() + fmt::format("# nodes: {}\n", request.nodes) +
           scheduler::script_end(request, request.arguments);
}

std::string Spool::submit(const std::string& script, const scheduler::JobRequest&,
                          const Environment& environment) const {
    const auto number =
        std::to_string(1 + std::distance(std::filesystem::directory_iterator(folder_of(environment)),
                                         std::filesystem::directory_iterator()));
    std::ofstream(folder_of(environment) / (number + ".sh")) << script;
    return number;
}

std::string Spool::output_file(const scheduler::JobRequest& request, const std::string& number) const {
    return fmt::format("{}.spool{}", scheduler::name_of_job(request), number);
}

std::optional<std::vector<scheduler::QueuedJob>> Spool::queued(const std::vector<std::string>& numbers,
                                                               const Environment& environment) const {
    using State = scheduler::QueuedJob::State;
    if (!std::filesystem::is_directory(folder_of(environment))) return std::nullopt;
    std::vector<scheduler::QueuedJob> out;
    for (const auto& number : numbers) {
        if (!std::filesystem::exists(folder_of(environment) / (number + ".sh"))) continue;
        const bool runs = std::filesystem::exists(folder_of(environment) / (number + ".runs"));
        out.push_back(
            {.number = number, .state = runs ? State::running : State::pending, .why = runs ? "" : "Lazy"});
    }
    return out;
}

std::vector<std::string> Spool::cancel_command(const std::string& number, bool) const {
    return {"/bin/sh", "-c", "rm \"$SPOOL_DIR/$0.sh\"", number};
}

}  // namespace dtrain::tests
