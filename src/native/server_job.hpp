// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/communicator.hpp>
#include <dtrain/environment.hpp>
#include <dtrain/parameter_servers.hpp>

#include "native/job_file.hpp"
#include "native/trainer.hpp"

namespace dtrain::native {

/// How many of the job's ranks, the first ones, are parameter servers. Taken from the launcher (dtrain-launch
/// --server_num); else, with [servers], the number of ranks of the first of several programs of mpirun; else
/// its `count`. If neither mentions servers, two programs of mpirun are servers and trainers if the job has a
/// table of rows (click_through); jobs of other kinds, and jobs of dtrain-launch, may have two programs for
/// other reasons, such as different environment variables. 0: no servers. Collective.
/// @param program index of the mpirun program that this rank belongs to
/// @throws UsageError on all ranks if the job file contradicts the launcher, or neither gives the number
int count_servers(const Job& job, const Environment& environment, const Communicator& world, int program);

/// The index of this process' program in its mpirun (MPI_APPNUM).
int program_number();

/// The programs of a job for servers and trainers, the same on all ranks: servers receive the training
/// program from the first trainer. Collective over `world`.
/// @param program of a trainer's plan; null on servers
/// @throws UsageError on all ranks
DistributeTranspiler transpile_together(const ServerRanks& ranks, const Communicator& world,
                                        const ServerSettings& settings, const Program* program);

/// The settings that servers and trainers must agree on.
ServerJobOptions server_options(const Job& job, int threads);

/// The plan of a trainer with its models replaced by what the transpiler makes of them; the model of the last
/// batch is transpiled likewise.
TrainingPlan transpiled(TrainingPlan plan, const DistributeTranspiler& transpiler, const ServerRanks& ranks,
                        const ServerSettings& settings);

}  // namespace dtrain::native
