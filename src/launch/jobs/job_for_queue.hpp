// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launch/options/options.hpp"
#include "scheduler/registry.hpp"

/// Turns a dtrain-launch command line into a job for a scheduler's queue. Pure.
namespace dtrain::launch {

/// The options that are passed to the job's own dtrain-launch: those of the command line that are not for the
/// queue.
std::vector<std::string> options_of_job(const ParsedOptions& parsed);

/// Nodes from --nodes, GPUs per node from --gpus (a number, a type and a number such as a100:4, or the length
/// of a list), the rest from the options for submitting.
/// @param launcher path of dtrain-launch
/// @param job arguments of dtrain-launch, including the program
/// @throws UsageError naming an option that no scheduler can use
scheduler::JobRequest job_request(const Options& options, std::string launcher, std::vector<std::string> job);

/// The log folder of the job with this number, according to its options.
std::string log_dir_of_job(const std::string& number, const Options& options);

/// A hint for people on how to follow a submitted job.
std::string how_to_follow(const scheduler::Scheduler& scheduler, const scheduler::JobRequest& request,
                          const std::string& number, const Options& options);

}  // namespace dtrain::launch
