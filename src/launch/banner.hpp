// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/options.hpp"
#include "launch/plan.hpp"

/// What users of fleetrun know from their console and log folder; the formats are those of Paddle's
/// documents.
namespace dtrain::launch {

/// "-----------  Configuration Arguments -----------" and the options, in alphabetical order: those that the
/// documents show, and all that are no defaults.
std::string configuration_banner(const Options& options, const Plan& plan);

/// A row of the Distributed Envs table.
struct TableRow {
    std::string name;
    std::string value;
};

/// The table; a value of 45 letters or more becomes "... " and its last 41.
std::string distributed_envs_table(const std::vector<TableRow>& rows);

/// What the launcher says of the processes of one role.
struct Greeting {
    std::string line;  ///< "Local start 4 processes. First process distributed environment info ..."
    std::vector<TableRow> rows;
};

/// One greeting of a collective job; one for servers, workers and heterogeneous workers each.
std::vector<Greeting> greetings(const Plan& plan);

/// Where to look for more: the last line before the job's own output.
std::string where_logs_are(const Plan& plan, const std::string& log_dir);

/// Content of endpoints.log.
std::string endpoints_log(const Plan& plan);

}  // namespace dtrain::launch
