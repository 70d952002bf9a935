// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain::scheduler {

/// A job as its scheduler's queue shows it.
struct QueuedJob {
    enum class State { pending, running, ended };

    std::string number;
    State state = State::pending;
    std::string why;   ///< why it is pending; "" if the scheduler does not tell
    std::string host;  ///< where its script runs; "" if it does not run
    friend bool operator==(const QueuedJob&, const QueuedJob&) = default;
};

}  // namespace dtrain::scheduler
