// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <dtrain/environment.hpp>

#include "protocol/program_environment.hpp"
#include "protocol/server_job.hpp"

namespace dtrain::cluster {

/// Sets Paddle's variables of a parameter-server job: ps and ps-heter of 2.0-2.3, ps of 2.4-3.x.
void set_server_job(Environment& out, const ProgramContext& context);

/// Passes the addresses of a parameter-server job to its workers: DTRAIN_SERVERS and related variables.
void write_server_job(Environment& environment, const ServerJob& job);

/// Reads what write_server_job() wrote; nothing if the job has no servers.
/// @throws UsageError naming the variable that does not match the others.
std::optional<ServerJob> read_server_job(const Environment& environment);

}  // namespace dtrain::cluster
