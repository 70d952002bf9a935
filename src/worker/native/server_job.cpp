// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/server_job.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <mpi.h>

#include <dtrain/program_file.hpp>

#include "cluster/endpoint_list.hpp"
#include "io/checkpoint_index.hpp"
#include "io/stored_checkpoint.hpp"
#include "worker/native/click_model.hpp"
#include "worker/native/server_checkpointer.hpp"

namespace dtrain::native {
namespace {

using checkpoint::check_job;
using checkpoint::refusal_of;

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

/// The number of servers from Paddle's variables, which dtrain-launch sets on every rank of a job with
/// servers. 0: not such a job.
int servers_of_launcher(const Environment& environment) {
    const auto list = environment.get("PADDLE_PSERVERS_IP_PORT_LIST");
    if (!environment.has("TRAINING_ROLE") || !list || list->empty()) return 0;
    return static_cast<int>(cluster::parse_endpoint_list(*list).size());
}

/// An error message if TRAINING_ROLE does not agree with the rank: servers are the first ranks.
std::optional<std::string> wrong_role(const Environment& environment, const Communicator& world,
                                      int servers) {
    const auto role = environment.get_or("TRAINING_ROLE", "");
    const std::string expected = world.rank() < servers ? "PSERVER" : "TRAINER";
    if (role == expected) return std::nullopt;
    return fmt::format(
        "TRAINING_ROLE of rank {} is {}, and with the {} servers of PADDLE_PSERVERS_IP_PORT_LIST "
        "a job file's is {}; start the job with dtrain-launch --server_num N --worker_num M",
        world.rank(), role, servers, expected);
}

/// @throws UsageError if it is a checkpoint written without parameter servers, or cannot be read at all
void check_is_of_servers(const std::filesystem::path& checkpoint, int servers) {
    for (const char* file : {trainer_file, io::servers_name})
        if (std::filesystem::exists(checkpoint / file)) return;
    const io::StoredCheckpoint other(checkpoint);
    throw UsageError(fmt::format(
        "{}: a job without parameter servers has written it, and this job has {}, which cannot go on from "
        "it; start the job without servers, or begin without this checkpoint",
        other.path().string(), servers));
}

DistributeTranspiler transpile(const ServerRanks& ranks, const ServerSettings& settings,
                               const Program& program) {
    DistributeTranspiler transpiler({.slice_var_up = settings.slice,
                                     .split_method = settings.split_method,
                                     .min_block_size = settings.min_block_size,
                                     .geo_sgd_mode = settings.mode == ServerMode::geo,
                                     .geo_sgd_need_push_nums = settings.push_every});
    transpiler.transpile(program, {.trainer_id = ranks.serves() ? 0 : ranks.number(),
                                   .pservers = ranks.pservers(),
                                   .trainers = ranks.trainers(),
                                   .sync_mode = settings.mode == ServerMode::sync,
                                   .click = settings.rows.statistics ? fed_click : ""});
    return transpiler;
}

}  // namespace

int program_number() {
    int* number = nullptr;
    int is_there = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, static_cast<void*>(&number), &is_there);
    return is_there != 0 ? *number : 0;
}

int count_servers(const Job& job, const Environment& environment, const Communicator& world, int program) {
    const auto& settings = job.servers;
    const auto programs = programs_of_mpirun(world, program);
    const bool means_servers = are_servers_and_trainers(programs, job.model.kind, environment, world);
    const auto of_launcher = servers_of_launcher(environment);
    throw_together(world, of_launcher > 0 ? wrong_role(environment, world, of_launcher) : std::nullopt);
    if (of_launcher == 0 && !settings) return means_servers ? programs.ranks_of_first : 0;
    const int of_first = programs.count > 1 ? programs.ranks_of_first : 0;
    const int told = of_launcher > 0 ? of_launcher : of_first;
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
    return transpile(ranks, settings, parse_program(text, "the first trainer"));
}

ServerJobOptions server_options(const Job& job, int threads) {
    const auto settings = job.servers.value_or(ServerSettings{});
    std::optional<ServerMetricsOptions> metrics;
    if (settings.metrics || settings.metrics_port)
        metrics = {settings.metrics.value_or(""),
                   std::chrono::milliseconds(std::llround(settings.metrics_every * 1000)),
                   settings.metrics_port.value_or("")};
    return {.mode = settings.mode,
            .staleness = settings.staleness,
            .most_merged = settings.most_merged,
            .wire = settings.wire,
            .seed = job.train.seed,
            .threads = threads,
            .device = settings.device,
            .table_threads = settings.threads.value_or(0),
            .memory = settings.memory,
            .spill = settings.spill.value_or(""),
            .rows = settings.rows,
            .reject_not_finite = settings.reject_not_finite,
            .metrics = metrics};
}

std::optional<Restored> resume_servers(const ServerRanks& ranks, const Communicator& world,
                                       const std::vector<std::filesystem::path>& candidates,
                                       ParameterServer* server, const std::map<std::string, std::string>& job,
                                       const std::function<void(const std::string&)>& warn) {
    const int first_trainer = ranks.servers();
    const bool speaks = world.rank() == first_trainer;
    const auto count = static_cast<std::size_t>(world.max(static_cast<std::int64_t>(candidates.size())));
    for (std::size_t i = 0; i < count; ++i) {
        const std::filesystem::path folder = world.broadcast(
            speaks ? std::filesystem::absolute(candidates[i]).string() : std::string(), first_trainer);
        CheckpointHeader header;
        const auto unreadable = refusal_of([&] {
            check_is_of_servers(folder, ranks.servers());
            if (server != nullptr) server->load(folder);
            if (speaks) header = static_cast<const CheckpointHeader&>(load_checkpoint(folder / trainer_file));
        });
        throw_together(world, speaks && !unreadable
                                  ? refusal_of([&] { check_job(header.job, job, folder.string()); })
                                  : std::nullopt);
        if (world.all(!unreadable)) {
            const auto too_many = refusal_of([&] {
                if (server != nullptr) server->check_rows();
            });
            throw_together(world, too_many ? std::optional(fmt::format("{}: {}", folder.string(), *too_many))
                                           : std::nullopt);
            return Restored{speaks ? candidates[i] : folder, header};
        }
        if (i + 1 == count) throw_together(world, unreadable);
        const auto reasons = world.all_gather(unreadable.value_or(""));
        const auto why = std::ranges::find_if(reasons, [](const auto& reason) { return !reason.empty(); });
        if (speaks) warn(fmt::format("{}; trying {}", *why, candidates[i + 1].string()));
    }
    return std::nullopt;
}

TrainingPlan transpiled(TrainingPlan plan, const DistributeTranspiler& transpiler, const ServerRanks& ranks,
                        const ServerSettings& settings) {
    plan.model.train = transpiler.get_trainer_program();
    plan.model.test = test_program(plan.model);
    if (plan.last_model)
        plan.last_model->train = transpile(ranks, settings, plan.last_model->train).get_trainer_program();
    return plan;
}

}  // namespace dtrain::native
