// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launch/options.hpp"

/// Turns a dtrain-launch command line into a job script for Slurm or PBS. Pure.
namespace dtrain::launch {

enum class Scheduler { slurm, pbs };

std::string to_string(Scheduler scheduler);

struct SchedulerChoice {
    Scheduler scheduler = Scheduler::slurm;
    std::string notice;  ///< for a user who may have meant the other scheduler; "" if there is only one
};

/// @param asked value of --scheduler: auto, slurm or pbs
SchedulerChoice choose_scheduler(const std::string& asked, bool has_sbatch, bool has_qsub);

/// The options that are passed to the job's own dtrain-launch: those of the command line that are not for the
/// queue.
std::vector<std::string> options_of_job(const ParsedOptions& parsed);

/// A script for sbatch: nodes from --nodes, GPUs per node from --gpus (a number, a type and a number such as
/// a100:4, or the length of a list), the rest from the options for submitting. The programs get SIGTERM early
/// enough before the time limit.
/// @param launcher path of dtrain-launch
/// @param job arguments of dtrain-launch, including the program
/// @throws UsageError naming an option that cannot be used in a script
std::string slurm_script(const Options& options, const std::string& launcher,
                         const std::vector<std::string>& job);

/// Like slurm_script(), for qsub: nodes and GPUs are given as chunks.
std::string pbs_script(const Options& options, const std::string& launcher,
                       const std::vector<std::string>& job);

/// The job's name in PBS; old servers take at most 15 characters, of which the first is a letter.
std::string name_in_pbs(const Options& options);

/// Converts a time limit in sbatch's notation ("90", "1:30:00", "2-12") to that of PBS: "36:00:00".
/// @throws UsageError if it is not a valid time limit
std::string walltime_of(const std::string& time);

/// The log folder of the job with this number, according to its options.
std::string log_dir_of_job(const std::string& number, const Options& options);

/// A hint for people on how to follow a submitted job.
std::string how_to_follow(Scheduler scheduler, const std::string& number, const Options& options);

}  // namespace dtrain::launch
