// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/idleness.hpp"

#include <algorithm>
#include <utility>

namespace dtrain::worker {

using std::chrono::milliseconds;

namespace {

constexpr int samples_in_timeout = 8;
constexpr milliseconds shortest_interval{20};
constexpr milliseconds max_interval{10'000};
constexpr int late = 3;  // in intervals

}  // namespace

milliseconds Idleness::interval() const {
    return std::clamp(timeout_ / samples_in_timeout, shortest_interval, max_interval);
}

void Idleness::sample(Activity activity, Clock::time_point now) {
    if (!samples_.empty() && now - samples_.back().at > late * interval()) samples_.clear();
    samples_.push_back({now, activity});
    while (samples_.size() > 1 && now - samples_[1].at >= timeout_) samples_.pop_front();
    const bool was_idle = std::exchange(idle_, now - samples_.front().at >= timeout_ && nothing_done());
    if (idle_ && !was_idle) idle_since_ = samples_.front().at;
}

bool Idleness::nothing_done() const {
    const auto& first = samples_.front();
    const auto& last = samples_.back();
    return last.activity.output == first.activity.output &&
           (last.activity.cpu_time - first.activity.cpu_time) * 100 < last.at - first.at;
}

milliseconds Idleness::idle_time() const {
    return std::chrono::duration_cast<milliseconds>(samples_.back().at - idle_since_);
}

}  // namespace dtrain::worker
