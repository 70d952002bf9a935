// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/cluster.hpp>

namespace dtrain::cluster {

/// Paddle's variables of a parameter-server job: ps and ps-heter of 2.0-2.3, ps of 2.4-3.x.
void set_server_job(Environment& out, const ProgramContext& context);

/// Hands the addresses of a parameter-server job to its workers: DTRAIN_SERVERS and the variables that go
/// with it.
void write_server_job(Environment& environment, const ServerJob& job);

/// The reverse; nothing when the job has no servers.
/// @throws UsageError naming the variable that does not fit the others.
std::optional<ServerJob> read_server_job(const Environment& environment);

}  // namespace dtrain::cluster
