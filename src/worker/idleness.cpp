// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/idleness.hpp"

#include <algorithm>
#include <utility>

namespace dtrain::worker {

using cluster::Inactivity;
using std::chrono::milliseconds;

namespace {

constexpr int samples_in_timeout = 8;
constexpr milliseconds shortest_interval{20};
constexpr milliseconds max_interval{10'000};
constexpr int late = 3;             // in intervals
constexpr int computing_limit = 4;  // in timeouts

/// But for the processor time.
bool are_unchanged(const Activity& before, const Activity& after) {
    return before.output == after.output && before.operations == after.operations;
}

}  // namespace

milliseconds Idleness::interval() const {
    return std::clamp(timeout_ / samples_in_timeout, shortest_interval, max_interval);
}

void Idleness::sample(Activity activity, Clock::time_point now) {
    if (!samples_.empty() && now - samples_.back().at > late * interval()) samples_.clear();
    if (samples_.empty() || !are_unchanged(samples_.back().activity, activity)) unchanged_since_ = now;
    samples_.push_back({now, activity});
    while (samples_.size() > 1 && now - samples_[1].at >= timeout_) samples_.pop_front();
    const auto was_idle = std::exchange(idle_, inactivity());
    if (idle_ && !was_idle)
        idle_since_ = *idle_ == Inactivity::computes ? unchanged_since_ : samples_.front().at;
}

std::optional<Inactivity> Idleness::inactivity() const {
    const auto& first = samples_.front();
    const auto& last = samples_.back();
    const auto observed = last.at - first.at;
    if (observed < timeout_ || !are_unchanged(first.activity, last.activity)) return std::nullopt;
    if ((last.activity.cpu_time - first.activity.cpu_time) * 100 < observed) return Inactivity::sleeps;
    if (last.activity.waited && *last.activity.waited >= timeout_) return Inactivity::waits;
    const bool computes_for_long =
        last.activity.records_operations && last.at - unchanged_since_ >= computing_limit * timeout_;
    return computes_for_long ? std::optional(Inactivity::computes) : std::nullopt;
}

milliseconds Idleness::idle_time() const {
    return std::chrono::duration_cast<milliseconds>(samples_.back().at - idle_since_);
}

}  // namespace dtrain::worker
