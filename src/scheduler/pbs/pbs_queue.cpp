// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "scheduler/limits.hpp"
#include "scheduler/pbs/pbs.hpp"

namespace dtrain::scheduler {
namespace {

QueuedJob::State state_in_pbs(std::string_view letter) {
    constexpr std::string_view pending = "QHWTM", running = "REBSU";
    if (letter.size() != 1) return QueuedJob::State::ended;
    if (pending.find(letter) != std::string_view::npos) return QueuedJob::State::pending;
    return running.find(letter) != std::string_view::npos ? QueuedJob::State::running
                                                          : QueuedJob::State::ended;
}

/// Lines have at most 80 characters; longer ones continue on the next line, after a tab.
std::vector<std::string> whole_lines(std::string_view output) {
    std::vector<std::string> lines;
    for (const auto& part : split(output, '\n'))
        if (!lines.empty() && lines.back().starts_with("    ") && part.starts_with('\t'))
            lines.back() += part.substr(1);
        else
            lines.push_back(part);
    return lines;
}

}  // namespace

std::vector<QueuedJob> parse_qstat(std::string_view output) {
    // Job Id: 12.server
    //     job_state = Q
    //     comment = Not Running: Insufficient amount of resource: ncpus
    std::vector<QueuedJob> jobs;
    for (const auto& whole_line : whole_lines(output)) {
        const auto line = trimmed(whole_line);
        constexpr std::string_view begin = "Job Id:";
        if (line.starts_with(begin)) {
            jobs.push_back({.number = std::string(trimmed(line.substr(begin.size())))});
            continue;
        }
        const auto equals = line.find(" = ");
        if (jobs.empty() || equals == std::string_view::npos) continue;
        const auto name = line.substr(0, equals);
        const auto value = trimmed(line.substr(equals + 3));
        auto& job = jobs.back();
        if (name == "job_state") job.state = state_in_pbs(value);
        if (name == "comment") job.why = value;
        if (name == "exec_host") job.host = value.substr(0, value.find_first_of("/+"));
    }
    for (auto& job : jobs)
        if (job.state != QueuedJob::State::pending) job.why.clear();
    return jobs;
}

std::optional<std::vector<QueuedJob>> Pbs::queued(const std::vector<std::string>& numbers,
                                                  const Environment& environment) const {
    if (!find_in_path("qstat", environment)) return std::nullopt;
    std::vector<std::string> command{"qstat", "-f"};
    command.insert(command.end(), numbers.begin(), numbers.end());
    const auto answer =
        run_and_capture({.argv = std::move(command), .environment = environment}, queue_limit);
    // qstat fails for each job that has ended, but still lists the others.
    if (answer.status.signal != 0) return std::nullopt;
    return parse_qstat(answer.out);
}

}  // namespace dtrain::scheduler
