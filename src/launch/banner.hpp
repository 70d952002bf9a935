// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/options.hpp"
#include "launch/plan.hpp"

/// Output that users of fleetrun know from their console and log folder, in the formats of Paddle's
/// documents.
namespace dtrain::launch {

/// "-----------  Configuration Arguments -----------" and the options in alphabetical order: those that
/// Paddle's documents show, and all that differ from their defaults.
std::string configuration_banner(const Options& options, const Plan& plan);

/// A row of the Distributed Envs table.
struct TableRow {
    std::string name;
    std::string value;
};

/// The Distributed Envs table; a value of 45 or more characters becomes "... " and its last 41.
std::string distributed_envs_table(const std::vector<TableRow>& rows);

/// What the launcher prints about the processes of one role.
struct Greeting {
    std::string line;  ///< "Local start 4 processes. First process distributed environment info ..."
    std::vector<TableRow> rows;
};

/// One greeting for a collective job; one each for servers, workers and heterogeneous workers.
std::vector<Greeting> greetings(const Plan& plan);

/// Where the logs are: the last line before the job's own output.
std::string where_logs_are(const Plan& plan, const std::string& log_dir);

/// Content of endpoints.log.
std::string endpoints_log(const Plan& plan);

}  // namespace dtrain::launch
