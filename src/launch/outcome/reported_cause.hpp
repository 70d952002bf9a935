// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "launch/outcome/report.hpp"

/// Finds the rank that reports why the ranks of a job ended together.
namespace dtrain::launch {

inline constexpr const char* server_role = "server";

/// Ranks that throw an error together end within moments of each other, and only one of them reports it, so
/// the first by time may have none. The cause is then a rank with the same exit code that has: a server that
/// reports its own failure (or one that was stopped before it exited, if the first rank repeats its error);
/// else, if the first rank has no error, a rank that reports one for all, even if it was stopped before it
/// exited. The other ranks are `followed`. Nothing changes after a signal or a Python exception.
void put_reporter_first(FailureReport& report, const std::function<std::string(int rank)>& log_tail);

}  // namespace dtrain::launch
