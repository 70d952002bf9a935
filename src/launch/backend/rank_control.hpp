// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>

#include <dtrain/environment.hpp>

namespace dtrain::launch {

/// How to control the ranks behind a running launch backend, and what to do if it does not obey.
struct RankControl {
    bool by_lines = false;  ///< commands are lines on the backend's stdin; else signals to it
    int death_signal = 0;   ///< sent to the backend when the launcher dies; 0: its stdin ends instead
    int at_once = 0;        ///< signal to the backend that ends all ranks without grace
    /// Ends ranks that the backend has left behind on other nodes; unset if there can be none.
    std::function<void(std::chrono::milliseconds grace, const Environment& environment)> end_remaining;
};

}  // namespace dtrain::launch
