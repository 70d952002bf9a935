// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/idleness.hpp"

#include <algorithm>
#include <utility>

namespace dtrain::worker {

using cluster::Inactivity;
using std::chrono::milliseconds;

namespace {

constexpr int samples_in_limit = 8;
constexpr milliseconds shortest_interval{20};
constexpr milliseconds max_interval{10'000};
constexpr int late = 3;             // in intervals
constexpr int computing_limit = 4;  // in limits
constexpr int starting_limit = 10;  // the same before the first operation has ended
constexpr int active_part = 50;     // of a core: threads of a library that polls use half as much in a rank
constexpr std::uintmax_t moving_per_ms = (1U << 20U) / 1000;  // bytes

/// But for the processor time.
bool are_unchanged(const Activity& before, const Activity& after) {
    return before.output == after.output && before.operations == after.operations;
}

}  // namespace

Idleness::Idleness(cluster::HangLimit limit) : fixed_limit_(limit.time) {
    if (limit.is_learned) learned_.emplace(limit.time);
}

milliseconds Idleness::interval() const {
    return std::clamp(limit() / samples_in_limit, shortest_interval, max_interval);
}

void Idleness::sample(Activity activity, Clock::time_point now) {
    if (!samples_.empty() && now - samples_.back().at > late * interval()) samples_.clear();
    if (learned_) learned_->sample(activity.operations, activity.output, now);
    if (samples_.empty() || !are_unchanged(samples_.back().activity, activity)) unchanged_since_ = now;
    samples_.push_back({now, activity});
    while (samples_.size() > 1 && now - samples_[1].at >= limit()) samples_.pop_front();
    const auto was_idle = std::exchange(idle_, inactivity());
    if (idle_ && !was_idle)
        idle_since_ = *idle_ == Inactivity::computes ? unchanged_since_ : samples_.front().at;
}

void Idleness::note_progress(Clock::time_point at) {
    std::erase_if(samples_, [&](const Sample& sample) { return sample.at < at; });
    unchanged_since_ = std::max(unchanged_since_, at);
    idle_.reset();
}

std::optional<Inactivity> Idleness::inactivity() const {
    const auto& first = samples_.front();
    const auto& last = samples_.back();
    const auto observed = last.at - first.at;
    if (observed < limit() || !are_unchanged(first.activity, last.activity)) return std::nullopt;
    const auto used = last.activity.cpu_time - first.activity.cpu_time;
    const auto waited_for_a_core = last.activity.cpu_wait - first.activity.cpu_wait;
    const auto observed_ms = static_cast<std::uintmax_t>(std::chrono::floor<milliseconds>(observed).count());
    const bool moves = last.activity.moved - first.activity.moved >= moving_per_ms * observed_ms;
    if (!moves && used * active_part < observed && waited_for_a_core * 4 < observed)
        return Inactivity::sleeps;
    if (last.activity.waited && *last.activity.waited >= limit()) return Inactivity::waits;
    if (moves) return std::nullopt;
    const int limits = last.activity.operations == 0 ? starting_limit : computing_limit;
    const bool computes_for_long =
        last.activity.records_operations && last.at - unchanged_since_ >= limits * limit();
    return computes_for_long ? std::optional(Inactivity::computes) : std::nullopt;
}

milliseconds Idleness::idle_time() const {
    return std::chrono::duration_cast<milliseconds>(samples_.back().at - idle_since_);
}

}  // namespace dtrain::worker
