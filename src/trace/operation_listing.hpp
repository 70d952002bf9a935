// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "trace/read_operation_log.hpp"

namespace dtrain::trace {

/// For people: an operation on each line, the oldest first, when it began before `now`, and how long it took
/// or goes on: "allreduce 41 (float32 x 1024, sum) of ranks 0-3 at t.py:12: began 5.20 s ago, took 0.8 ms".
/// Pure.
std::string operation_listing(const std::vector<TimedOperation>& operations);

}  // namespace dtrain::trace
