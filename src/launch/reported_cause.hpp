// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "launch/report.hpp"

/// Who tells why the ranks of a job ended together.
namespace dtrain::launch {

inline constexpr const char* server_role = "server";

/// Ranks that throw an error together end within moments of each other, and only one of them says why, so
/// that the first by time may have nothing in its log. The cause is then the rank with the same exit code
/// whose log tells: a server that says what it failed at, also one whose words the first one repeats and that
/// was stopped before it had exited, else, when the first one's log has no error of dtrain's, the rank whose
/// log has one, be it that it was stopped before it had exited. The others are `followed`. Nothing changes
/// after a signal or Python's exception.
void put_reporter_first(FailureReport& report, const std::function<std::string(int rank)>& log_tail);

}  // namespace dtrain::launch
