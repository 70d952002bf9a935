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

namespace dtrain::metrics {

/// The progress of a training.
struct Progress {
    std::int64_t epoch = 1;  ///< current epoch, from 1 on
    std::int64_t epochs = 1;
    std::int64_t step = 0;  ///< completed steps of this epoch
    std::int64_t steps = 1;
    double samples_per_second = 0;
    std::optional<double> loss = {};
    std::optional<std::chrono::seconds> left = {};  ///< time until the end of the last epoch
};

/// "epoch 1/2 [==>       ] 43/157  12345 samples/s  loss 0.5123  0:12 left", at most `width` columns. Pure.
std::string progress_text(const Progress& progress, std::size_t width);

/// How long a progress text is shown before an update: 0.2 s on a terminal, else one minute.
std::chrono::milliseconds stands_for(const StatusLine& line);

/// Shows the progress in the status line, or passes it to `print` as a line if there is no terminal.
void show(const Progress& progress, StatusLine& line, const std::function<void(const std::string&)>& print);

/// The remaining time of a job, if it continues at the speed since `begin`. Nothing before the second step:
/// the first one also does what is only done once.
/// @param done steps since then
std::optional<std::chrono::seconds> time_left(std::chrono::duration<double> since_begin, std::int64_t done,
                                              std::int64_t left);

}  // namespace dtrain::metrics
