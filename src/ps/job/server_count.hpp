// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/communicator.hpp>
#include <dtrain/environment.hpp>
#include <dtrain/parameter_servers.hpp>

namespace dtrain::ps {

/// The number of servers that the launcher has started (dtrain-launch --server_num), from Paddle's variables,
/// which it sets on every rank of such a job. 0: not such a job. Collective.
/// @throws UsageError on all ranks if TRAINING_ROLE of one does not agree: servers are the first ranks
int servers_of_launcher(const Environment& environment, const Communicator& world);

/// The number of servers of a program. @param of_launcher servers_of_launcher() @param ranks of the job
/// @throws UsageError if nobody says how many, or settings and launcher contradict each other
int server_count(const ParameterServers& settings, int of_launcher, int ranks);

}  // namespace dtrain::ps
