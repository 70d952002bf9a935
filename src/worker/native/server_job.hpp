// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/communicator.hpp>
#include <dtrain/environment.hpp>
#include <dtrain/parameter_servers.hpp>

#include "checkpoint/state_checkpoint.hpp"
#include "worker/native/job_file.hpp"
#include "worker/native/trainer.hpp"

namespace dtrain::native {

using checkpoint::Restored;

/// How many of the job's ranks, the first ones, are parameter servers: what the launcher says
/// (dtrain-launch --server_num), else with [servers] the ranks of the first of several programs of mpirun,
/// else its count. Where neither says anything of servers, two programs of mpirun are servers and trainers if
/// the job has a table of rows (click_through); a job of another kind has two programs for other reasons,
/// such as variables of their own, and so have jobs of dtrain-launch. 0: the job is without. Collective.
/// @param program of mpirun that this rank belongs to, from 0 on
/// @throws UsageError on all ranks when the job file says something else than the launcher, or nobody says it
int count_servers(const Job& job, const Environment& environment, const Communicator& world, int program);

/// The number of this process' program among those of its mpirun.
int program_number();

/// A job's programs for servers and trainers. All ranks have the same: those that serve know the training
/// program from the first that trains. Collective over `world`.
/// @param program of a trainer's plan; servers give nothing
/// @throws UsageError on all ranks
DistributeTranspiler transpile_together(const ServerRanks& ranks, const Communicator& world,
                                        const ServerSettings& settings, const Program* program);

/// What both sides have to be told alike.
ServerJobOptions server_options(const Job& job, int threads);

/// Lets all servers load the first of the checkpoints that all of them can, and all ranks know it.
/// @param candidates the first trainer's count; none: nothing is loaded
/// @param server none on trainers
/// @param job as CheckpointHeader::job; the first trainer's counts
/// @param warn told of those that cannot be read, on the first trainer
/// @return what was loaded; the header is the first trainer's alone
/// @throws UsageError on all ranks when none can be read, or it is of another job. Collective over `world`.
std::optional<Restored> resume_servers(const ServerRanks& ranks, const Communicator& world,
                                       const std::vector<std::filesystem::path>& candidates,
                                       ParameterServer* server, const std::map<std::string, std::string>& job,
                                       const std::function<void(const std::string&)>& warn);

/// The plan of a trainer, with what the transpiler made of its model, and what one like it makes of that of
/// the last batch.
TrainingPlan transpiled(TrainingPlan plan, const DistributeTranspiler& transpiler, const ServerRanks& ranks,
                        const ServerSettings& settings);

}  // namespace dtrain::native
