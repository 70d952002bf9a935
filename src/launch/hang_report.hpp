// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cluster/event.hpp"

namespace dtrain::launch {

/// Exit status of a job that was stopped because it hung, as that of timeout(1).
inline constexpr int status_hung = 124;

/// Why a job was stopped that hung: "no rank that was left printed anything ... for 30.0 s". Pure.
/// @param hung the last idle event of each rank that was left
std::string hang_reason(const std::vector<cluster::Event>& hung);

/// Where the ranks of such a job are, a line for those in the same place together, the first to become idle
/// first: since when (local time), in what, and where their stacks are. Pure but for the time zone.
/// @param stacks_of the file of a rank's stacks, and its node where that is another one
std::vector<std::string> hang_places(const std::vector<cluster::Event>& hung,
                                     const std::function<std::string(int)>& stacks_of);

/// A line for the ranks that were done by then: others often wait for one that ended too early. Pure but for
/// the time zone.
/// @param done the ends of these ranks
std::optional<std::string> done_before(const std::vector<cluster::Event>& done);

}  // namespace dtrain::launch
