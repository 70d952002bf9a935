// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/server_job.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <dtrain/cluster.hpp>
#include <dtrain/program_file.hpp>

#include "cluster/server_environment.hpp"

namespace dtrain::native {
namespace {

/// Ranks of the first program; 0 when there is only one.
int ranks_of_first_program(const Communicator& world, int program) {
    if (world.max(std::int64_t{program}) == 0) return 0;
    return static_cast<int>(world.sum(std::int64_t{program == 0}));
}

}  // namespace

int program_number() {
    int* number = nullptr;
    int is_there = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, static_cast<void*>(&number), &is_there);
    return is_there != 0 ? *number : 0;
}

int count_servers(const std::optional<ServerSettings>& settings, const Environment& environment,
                  const Communicator& world, int program) {
    const auto of_launcher = cluster::read_server_job(environment);
    if (of_launcher && !of_launcher->stages.empty())
        throw UsageError(
            "heterogeneous workers run programs of their own; a job file has servers and workers");
    const auto of_first = ranks_of_first_program(world, program);
    if (!of_launcher && !settings) return 0;
    const int told = of_launcher ? static_cast<int>(of_launcher->servers.size()) : of_first;
    if (told == 0 && !settings->count)
        throw UsageError(
            fmt::format("[servers] needs its 'count': how many of the {} ranks are servers; or "
                        "start them by dtrain-launch --server_num N --worker_num M, or mpirun -np N "
                        "... : -np M ...",
                        world.size()));
    if (told != 0 && settings && settings->count && *settings->count != told)
        throw UsageError(fmt::format("[servers] count is {}, but the launcher started {} servers",
                                     *settings->count, told));
    return told != 0 ? told : *settings->count;
}

DistributeTranspiler transpile_together(const ServerRanks& ranks, const Communicator& world,
                                        const ServerSettings& settings, const Program* program) {
    const auto text = world.broadcast(program != nullptr ? program_text(*program) : "", ranks.servers());
    DistributeTranspiler transpiler({.slice_var_up = settings.slice,
                                     .split_method = settings.splits_by_name ? hash_name : round_robin,
                                     .min_block_size = settings.min_block_size});
    transpiler.transpile(parse_program(text, "the first trainer"),
                         {.trainer_id = ranks.serves() ? 0 : ranks.number(),
                          .pservers = ranks.pservers(),
                          .trainers = ranks.trainers(),
                          .sync_mode = settings.mode == ServerMode::sync});
    return transpiler;
}

ServerJobOptions server_options(const Job& job, int threads) {
    const auto settings = job.servers.value_or(ServerSettings{});
    return {.mode = settings.mode,
            .staleness = settings.staleness,
            .most_merged = settings.most_merged,
            .seed = job.train.seed,
            .threads = threads};
}

TrainingPlan transpiled(TrainingPlan plan, const DistributeTranspiler& transpiler) {
    plan.model.train = transpiler.get_trainer_program();
    plan.model.test = test_program(plan.model);
    return plan;
}

}  // namespace dtrain::native
