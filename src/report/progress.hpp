// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/status_line.hpp"

namespace dtrain::report {

/// Where training stands.
struct Progress {
    std::int64_t epoch = 1;  ///< in progress, from 1 on
    std::int64_t epochs = 1;
    std::int64_t step = 0;  ///< of the epoch, done
    std::int64_t steps = 1;
    double samples_per_second = 0;
    std::optional<double> loss = {};
    std::chrono::seconds left{0};  ///< until the last epoch's end
};

/// "epoch 1/2 [==>       ] 43/157  12345 samples/s  loss 0.5123  0:12 left", at most `width` columns. Pure.
std::string progress_text(const Progress& progress, std::size_t width);

/// How long a shown progress stands: a fifth of a second on a terminal, elsewhere a minute.
std::chrono::milliseconds stands_for(const StatusLine& line);

/// Shows it in the line, or gives it to `print` as a line where that is on no terminal.
void show(const Progress& progress, StatusLine& line, const std::function<void(const std::string&)>& print);

/// How much time a job needs still, when it goes on as it did since `begin`.
/// @param done steps since then
std::chrono::seconds time_left(std::chrono::duration<double> since_begin, std::int64_t done,
                               std::int64_t left);

}  // namespace dtrain::report
