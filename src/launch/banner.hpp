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

/// "-----------  Configuration Arguments -----------" and the options, in alphabetical order.
std::string configuration_banner(const Options& options);

/// A row of the Distributed Envs table.
struct TableRow {
    std::string name;
    std::string value;
};

/// The table; a value of 45 letters or more becomes "... " and its last 41.
std::string distributed_envs_table(const std::vector<TableRow>& rows);

/// The rows that Paddle shows of the first process.
std::vector<TableRow> first_process_rows(const Plan& plan);

/// Content of endpoints.log.
std::string endpoints_log(const Plan& plan);

}  // namespace dtrain::launch
