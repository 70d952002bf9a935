// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/job_metrics.hpp"

#include <sys/stat.h>
#include <utility>

#include "base/wall_clock.hpp"

namespace dtrain::launch {
namespace {

using cluster::Event;

std::optional<double> last_written(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return std::nullopt;
    return static_cast<double>(info.st_mtim.tv_sec) + static_cast<double>(info.st_mtim.tv_nsec) / 1e9;
}

bool is_own_failure(Event::Kind kind) {
    return kind == Event::Kind::exited || kind == Event::Kind::issue || kind == Event::Kind::port_taken;
}

}  // namespace

JobMetrics::JobMetrics(JobIdentity identity) : now_{.identity = std::move(identity)} {}

void JobMetrics::be(const char* state) {
    const std::scoped_lock lock(mutex_);
    now_.state = state;
}

void JobMetrics::begin(const std::vector<PlannedRank>& planned, int restarts) {
    planned_ = planned;
    known_gpu_errors_ = 0;
    const JobState nothing_yet(static_cast<int>(planned.size()));
    std::vector<MeasuredRank> ranks;
    for (int rank = 0; rank < nothing_yet.size(); ++rank) {
        const auto& plan = planned[static_cast<std::size_t>(rank)];
        ranks.push_back({.view = rank_view(plan, nothing_yet, rank), .has_local_log = plan.info.is_local});
    }
    const std::scoped_lock lock(mutex_);
    now_.state = "starting";
    now_.restarts = restarts;
    now_.attempt_began_us = now_us();
    now_.ranks = std::move(ranks);
}

void JobMetrics::take(const Event& event, const JobState& job) {
    const auto index = static_cast<std::size_t>(event.rank);
    if (event.rank < 0 || index >= planned_.size()) return;
    auto view = rank_view(planned_[index], job, event.rank);
    const std::scoped_lock lock(mutex_);
    if (now_.state == "starting" && job.all_have_started()) now_.state = "running";
    auto& rank = now_.ranks[index];
    if (const auto& start = job.start_of(event.rank)) rank.started_us = start->time_us;
    if (event.kind == Event::Kind::alive) rank.heartbeat_us = now_us();
    const bool has_just_failed = view.state == "failed" && rank.view.state != "failed";
    rank.view = std::move(view);
    if (has_just_failed && is_own_failure(event.kind)) {
        auto& failures = now_.failures[event.rank];
        failures.host = rank.view.host;
        ++failures.count;
    }
    if (job.gpu_errors().size() > known_gpu_errors_) ++now_.gpu_errors[event.host];
    known_gpu_errors_ = job.gpu_errors().size();
}

std::vector<scrape::Family> JobMetrics::families() const {
    JobSnapshot now;
    {
        const std::scoped_lock lock(mutex_);
        now = now_;
    }
    return families_of(now, now_us(), last_written);
}

}  // namespace dtrain::launch
