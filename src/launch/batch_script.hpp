// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launch/options.hpp"

/// A dtrain-launch command line as a job for the queue of Slurm or PBS. Pure.
namespace dtrain::launch {

enum class Scheduler { slurm, pbs };

std::string to_string(Scheduler scheduler);

struct SchedulerChoice {
    Scheduler scheduler = Scheduler::slurm;
    std::string notice;  ///< for a person who may have meant the other one; "": there is only one
};

/// @param asked --scheduler: auto, slurm or pbs
SchedulerChoice choose_scheduler(const std::string& asked, bool has_sbatch, bool has_qsub);

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

/// The same for qsub: nodes and GPUs as chunks.
std::string pbs_script(const Options& options, const std::string& launcher,
                       const std::vector<std::string>& job);

/// What PBS calls the job; old servers take 15 letters, of which the first is one.
std::string name_in_pbs(const Options& options);

/// A time limit as sbatch understands it ("90", "1:30:00", "2-12") as PBS writes it: "36:00:00".
/// @throws UsageError when it is none
std::string walltime_of(const std::string& time);

/// Where the logs of a job with this number will be, as its options say.
std::string log_dir_of_job(const std::string& number, const Options& options);

/// How to follow a job that was submitted, for people.
std::string how_to_follow(Scheduler scheduler, const std::string& number, const Options& options);

}  // namespace dtrain::launch
