// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "ps/server/request.hpp"

namespace dtrain::ps {

/// Requests that cannot be answered yet, of each trainer in the order of their arrival.
class WaitingRequests {
  public:
    using Time = std::chrono::steady_clock::time_point;

    explicit WaitingRequests(std::size_t trainers) : trainers_(trainers) {}

    void add(std::size_t trainer, Request&& request, Time now) {
        trainers_[trainer].push_back({std::move(request), now});
    }

    /// Number of requests of all trainers.
    std::size_t count() const;

    /// Removes the oldest request of a trainer that is due.
    std::optional<Request> take(std::size_t trainer, const std::function<bool(const MessageHeader&)>& is_due);

    /// Removes all requests of a trainer.
    std::vector<Request> take_all(std::size_t trainer);

    /// Whether a request of this trainer has waited since `then` or longer.
    bool waits_since(std::size_t trainer, Time then) const;

  private:
    struct Waiting {
        Request request;
        Time since;
    };
    std::vector<std::deque<Waiting>> trainers_;
};

}  // namespace dtrain::ps
