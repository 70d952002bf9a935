// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "base/status_line.hpp"

namespace dtrain::launch {

/// What a user who waits for a job wants to see.
struct JobProgress {
    int size = 0;
    int up = 0;
    int done = 0;
    std::chrono::seconds elapsed{0};
    std::string log_dir;
};

/// "3 of 4 ranks up, 1 done, 12 s, logs in log", at most `width` columns. Pure.
std::string status_text(const JobProgress& status, std::size_t width);

}  // namespace dtrain::launch
