// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cluster/event.hpp"

namespace dtrain::launch {

/// Exit status of a job that was stopped because it hung, as that of timeout(1).
inline constexpr int status_hung = 124;

/// Why a job was stopped that hung: its idle ranks, those in the same place together, the first to become
/// idle first; since when (local time), in what, and where their stacks are. Lines for the console. Pure but
/// for the time zone.
/// @param hung the last idle event of each
/// @param log_of path of a rank's log, beside which its stacks are
std::string hang_report(const std::vector<cluster::Event>& hung,
                        const std::function<std::string(int)>& log_of);

}  // namespace dtrain::launch
