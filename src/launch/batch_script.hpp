// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launch/options.hpp"

/// A dtrain-launch command line as a job for Slurm's queue. Pure.
namespace dtrain::launch {

/// The options that the job's own dtrain-launch is given: those of the command line that are not for the
/// queue.
std::vector<std::string> options_of_job(const ParsedOptions& parsed);

/// A script that sbatch takes: nodes from --nodes, GPUs of each node from --gpus (a number, a type and a
/// number such as a100:4, or as many as a list has), the rest from the options for submitting. The programs
/// get SIGTERM in time before the time limit.
/// @param launcher path of dtrain-launch
/// @param job what it is given, the program included
/// @throws UsageError naming the option that no script can have
std::string slurm_script(const Options& options, const std::string& launcher,
                         const std::vector<std::string>& job);

/// How to follow a job that was submitted, for people.
std::string how_to_follow(const std::string& job_id, const Options& options);

}  // namespace dtrain::launch
