// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/server_job.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <dtrain/program_file.hpp>

#include "native/click_model.hpp"
#include "ps/job/server_count.hpp"
#include "ps/job/split_job.hpp"

namespace dtrain::native {
namespace {

/// The programs that one mpirun has started.
struct Programs {
    std::int64_t count = 1;
    int ranks_of_first = 0;
};

Programs programs_of_mpirun(const Communicator& world, int program) {
    return {.count = world.max(std::int64_t{program}) + 1,
            .ranks_of_first = static_cast<int>(world.sum(std::int64_t{program == 0}))};
}

/// Whether two programs of mpirun mean servers and trainers. Not under dtrain-launch, which starts several
/// programs itself if ranks do not follow node order.
bool are_servers_and_trainers(const Programs& programs, ModelKind kind, const Environment& environment,
                              const Communicator& world) {
    return world.all(programs.count == 2 && kind == ModelKind::click_through &&
                     !environment.has("DTRAIN_JOB_TOKEN"));
}

DistributeTranspiler split(const ServerRanks& ranks, ServerSettings settings, const Program& program) {
    settings.click = settings.rows.statistics ? fed_click : "";
    return ps::split(settings, ranks, program);
}

}  // namespace

int program_number() {
    int* number = nullptr;
    int is_set = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, static_cast<void*>(&number), &is_set);
    return is_set != 0 ? *number : 0;
}

int count_servers(const Job& job, const Environment& environment, const Communicator& world, int program) {
    const auto& settings = job.servers;
    const auto programs = programs_of_mpirun(world, program);
    const bool means_servers = are_servers_and_trainers(programs, job.model.kind, environment, world);
    const auto of_launcher = ps::servers_of_launcher(environment, world);
    if (of_launcher == 0 && !settings) return means_servers ? programs.ranks_of_first : 0;
    const int of_first = programs.count > 1 ? programs.ranks_of_first : 0;
    const int started = of_launcher > 0 ? of_launcher : of_first;
    if (started == 0 && !settings->count)
        throw UsageError(
            fmt::format("[servers] needs its 'count': how many of the {} ranks are servers; or "
                        "start them by dtrain-launch --server_num N --worker_num M, or mpirun -np N "
                        "... : -np M ...",
                        world.size()));
    if (started != 0 && settings && settings->count && *settings->count != started)
        throw UsageError(fmt::format("[servers] count is {}, but the launcher started {} servers",
                                     *settings->count, started));
    return started != 0 ? started : *settings->count;
}

DistributeTranspiler transpile_together(const ServerRanks& ranks, const Communicator& world,
                                        const ServerSettings& settings, const Program* program) {
    const auto text = world.broadcast(program != nullptr ? program_text(*program) : "", ranks.servers());
    return split(ranks, settings, parse_program(text, "the first trainer"));
}

ServerJobOptions server_options(const Job& job, int threads) {
    return ps::job_options(job.servers.value_or(ServerSettings{}), job.train.seed, threads);
}

TrainingPlan transpiled(TrainingPlan plan, const DistributeTranspiler& transpiler, const ServerRanks& ranks,
                        const ServerSettings& settings) {
    plan.model.train = transpiler.get_trainer_program();
    plan.model.test = test_program(plan.model);
    if (plan.last_model)
        plan.last_model->train = split(ranks, settings, plan.last_model->train).get_trainer_program();
    return plan;
}

}  // namespace dtrain::native
