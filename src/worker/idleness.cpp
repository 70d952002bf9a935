// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/idleness.hpp"

#include <algorithm>
#include <utility>

namespace dtrain::worker {

using std::chrono::milliseconds;

namespace {

constexpr int looks_in_timeout = 8;
constexpr milliseconds shortest_interval{20};
constexpr milliseconds longest_interval{10'000};
constexpr int late = 3;  // intervals

}  // namespace

milliseconds Idleness::interval() const {
    return std::clamp(timeout_ / looks_in_timeout, shortest_interval, longest_interval);
}

void Idleness::look(Activity activity, Clock::time_point now) {
    if (!looks_.empty() && now - looks_.back().at > late * interval()) looks_.clear();
    looks_.push_back({now, activity});
    while (looks_.size() > 1 && now - looks_[1].at >= timeout_) looks_.pop_front();
    const bool was_idle = std::exchange(idle_, now - looks_.front().at >= timeout_ && nothing_done());
    if (idle_ && !was_idle) idle_since_ = looks_.front().at;
}

bool Idleness::nothing_done() const {
    const auto& first = looks_.front();
    const auto& last = looks_.back();
    return last.activity.output == first.activity.output &&
           (last.activity.cpu_time - first.activity.cpu_time) * 100 < last.at - first.at;
}

milliseconds Idleness::idle_time() const {
    return std::chrono::duration_cast<milliseconds>(looks_.back().at - idle_since_);
}

}  // namespace dtrain::worker
