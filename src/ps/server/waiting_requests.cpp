// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/server/waiting_requests.hpp"

#include <algorithm>
#include <utility>

namespace dtrain::ps {

std::size_t WaitingRequests::count() const {
    std::size_t count = 0;
    for (const auto& waiting : trainers_) count += waiting.size();
    return count;
}

std::optional<Request> WaitingRequests::take(std::size_t trainer,
                                             const std::function<bool(const MessageHeader&)>& is_due) {
    auto& waiting = trainers_[trainer];
    const auto due =
        std::ranges::find_if(waiting, [&](const Waiting& each) { return is_due(each.request.header); });
    if (due == waiting.end()) return std::nullopt;
    auto request = std::move(due->request);
    waiting.erase(due);
    return request;
}

std::vector<Request> WaitingRequests::take_all(std::size_t trainer) {
    std::vector<Request> requests;
    for (auto& [request, since] : std::exchange(trainers_[trainer], {}))
        requests.push_back(std::move(request));
    return requests;
}

bool WaitingRequests::waits_since(std::size_t trainer, Time then) const {
    return std::ranges::any_of(trainers_[trainer], [&](const Waiting& each) { return each.since <= then; });
}

}  // namespace dtrain::ps
