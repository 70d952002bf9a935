// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/subprocess.hpp"
#include "scheduler/job_request.hpp"
#include "scheduler/scheduler.hpp"

/// What batch scripts of all schedulers have in common. Pure.
namespace dtrain::scheduler {

/// The first lines, up to those for the scheduler.
std::string script_begin();

/// The last lines: loads the modules, then becomes dtrain-launch.
/// @param arguments of dtrain-launch
std::string script_end(const JobRequest& request, const std::vector<std::string>& arguments);

/// The job's name: the program's file name without extension, in letters and digits.
std::string name_of_job(const JobRequest& request);

/// Tasks to ask for on each node. With GPUs dtrain-launch starts one rank per GPU; all processors of the node
/// are shared by its ranks.
int tasks_of_node(const JobRequest& request);

/// Checks a value for a line in which nothing is quoted.
/// @throws UsageError naming the option
std::string plain(std::string_view option, const std::string& value);

/// The additional options for `scheduler`, each a line.
/// @param example of one, for the message
/// @throws UsageError for one that is no option, and for options of another scheduler
std::vector<std::string> further_lines(const JobRequest& request, const Scheduler& scheduler,
                                       std::string_view example);

/// Why a program for submitting refused a job, in one line.
std::string reason_of(const Captured& answer);

}  // namespace dtrain::scheduler
