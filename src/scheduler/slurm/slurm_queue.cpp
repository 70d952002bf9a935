// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "scheduler/limits.hpp"
#include "scheduler/slurm/slurm.hpp"

namespace dtrain::scheduler {
namespace {

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
    return std::ranges::find(words, word) != words.end();
}

QueuedJob::State state_in_slurm(std::string_view state) {
    static constexpr std::array<std::string_view, 6> pending{"PENDING",     "REQUEUED",      "REQUEUE_HOLD",
                                                             "REQUEUE_FED", "RESV_DEL_HOLD", "SPECIAL_EXIT"};
    static constexpr std::array<std::string_view, 8> running{
        "RUNNING", "CONFIGURING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING"};
    if (is_one_of(state, pending)) return QueuedJob::State::pending;
    return is_one_of(state, running) ? QueuedJob::State::running : QueuedJob::State::ended;
}

}  // namespace

std::vector<QueuedJob> parse_squeue(std::string_view output) {
    std::vector<QueuedJob> jobs;
    for (const auto& line : split(output, '\n')) {
        const auto fields = split(line, '|');
        if (fields.size() < 4) continue;
        QueuedJob job{.number = std::string(trimmed(fields[0])), .state = state_in_slurm(trimmed(fields[1]))};
        if (job.state == QueuedJob::State::pending && fields[3] != "None") job.why = fields[3];
        if (job.state == QueuedJob::State::running && fields[2] != "n/a") job.host = fields[2];
        jobs.push_back(std::move(job));
    }
    return jobs;
}

std::optional<std::vector<QueuedJob>> Slurm::queued(const std::vector<std::string>&,
                                                    const Environment& environment) const {
    if (!find_in_path("squeue", environment)) return std::nullopt;
    const auto answer = run_and_capture(
        {.argv = {"squeue", "--me", "--noheader", "--format=%i|%T|%B|%r"}, .environment = environment},
        queue_limit);
    if (!answer.status.success()) return std::nullopt;
    return parse_squeue(answer.out);
}

}  // namespace dtrain::scheduler
