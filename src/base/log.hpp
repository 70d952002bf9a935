// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain {

/// Sends spdlog's messages to stderr as "LEVEL 2026-01-31 12:34:56,789 program] message", the shape Paddle's
/// launcher uses. Call once, first thing in main().
void set_up_log(const std::string& program);

/// Messages below DEBUG, INFO, WARNING, ERROR or CRITICAL are not shown any more.
void set_log_level(const std::string& level);

}  // namespace dtrain
