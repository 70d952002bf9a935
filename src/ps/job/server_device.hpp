// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/device.hpp>
#include <dtrain/environment.hpp>
#include <dtrain/parameter_servers.hpp>

#include "ps/job/server_plan.hpp"

namespace dtrain::ps {

/// What this server updates its blocks on: where a GPU was asked for, the number of the one that it gets.
/// @param planned of it
/// @throws UsageError naming the server and its node when there is no such GPU, or it does not do the
/// program's operators
Device server_device(const ServerPlan& planned, const ServerRanks& ranks, const Environment& environment);

/// What a server that got no GPU may be told to do, where its launcher keeps servers off them; else "". Pure.
std::string how_to_give_gpus(const Environment& environment);

}  // namespace dtrain::ps
