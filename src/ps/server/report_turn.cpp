// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/report_turn.hpp"

#include <utility>

namespace dtrain::ps {

bool ReportTurn::take(const Waiting& asked) {
    if (holder_.value_or(asked.trainer) != asked.trainer) {
        waiting_.push_back(asked);
        return false;
    }
    holder_ = asked.trainer;
    return true;
}

std::optional<ReportTurn::Waiting> ReportTurn::give_back(std::size_t trainer) {
    if (holder_ != trainer) return std::nullopt;
    holder_.reset();
    if (waiting_.empty()) return std::nullopt;
    const auto next = waiting_.front();
    waiting_.pop_front();
    holder_ = next.trainer;
    return next;
}

std::optional<ReportTurn::Waiting> ReportTurn::leave(std::size_t trainer) {
    std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.trainer == trainer; });
    return give_back(trainer);
}

std::deque<ReportTurn::Waiting> ReportTurn::take_waiting() {
    return std::exchange(waiting_, {});
}

}  // namespace dtrain::ps
