// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/device.hpp>
#include <dtrain/environment.hpp>
#include <dtrain/parameter_servers.hpp>

#include "ps/job/server_plan.hpp"

namespace dtrain::ps {

/// The device on which this server updates its blocks; if a GPU was requested, the index of the one assigned
/// to it.
/// @param planned device from the server's plan
/// @throws UsageError naming the server and its node if there is no such GPU, or it does not support the
/// program's operators
Device server_device(const ServerPlan& planned, const ServerRanks& ranks, const Environment& environment);

/// Advice for a server that got no GPU because its launcher keeps servers off them; else "". Pure.
std::string how_to_give_gpus(const Environment& environment);

}  // namespace dtrain::ps
