// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace dtrain {

/// Exit statuses that the tools share.
inline constexpr int status_failed = 1;
inline constexpr int status_usage = 2;

/// Runs a tool's body. UsageError becomes one line on stderr and status 2, any other exception one line and
/// status 1; the line begins with the tool's name.
int run_main(const std::string& program, const std::function<int()>& body);

}  // namespace dtrain
