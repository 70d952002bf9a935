// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/server_training.hpp"

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include <dtrain/environment.hpp>
#include <dtrain/error.hpp>
#include <dtrain/parameter_servers.hpp>

#include "base/exit_status.hpp"
#include "base/text.hpp"
#include "comm/failure/leaving.hpp"
#include "model/resume_servers.hpp"
#include "model/server_checkpointer.hpp"
#include "native/agreed.hpp"
#include "native/click_caches.hpp"
#include "native/job_input.hpp"
#include "native/job_training.hpp"
#include "native/products.hpp"
#include "native/report.hpp"
#include "native/server_job.hpp"
#include "native/stop_request.hpp"
#include "native/trainer.hpp"
#include "native/training_run.hpp"
#include "program/device/compute_device.hpp"
#include "program/device/gpu_choice.hpp"

namespace dtrain::native {
namespace {

void check_servers_can_save(const CheckpointSettings& settings) {
    if (settings.files.format != CheckpointFormat::directory || settings.files.shards)
        throw UsageError(
            "[checkpoint] format = \"file\" and 'shards' are for jobs without parameter servers: "
            "each server writes files of its own into one directory");
}

/// Rejects settings that exclude servers. The job file parser does so only if there is a section [servers],
/// which a job with servers need not have.
void check_servers_add(const TrainSettings& settings) {
    if (const auto key = excludes_servers(settings))
        throw UsageError(
            fmt::format("[train] '{}' and parameter servers exclude each other: servers add the gradients; "
                        "leave it out, or start all ranks as one program without servers",
                        *key));
    if (settings.nccl)
        throw UsageError(
            "[train] nccl = true lets NCCL add the gradients of ranks, and this job's parameter servers add "
            "them: leave it out");
}

Device device_of_trainer(const TrainSettings& settings) {
    const auto device = program::device_to_use(settings.device, Environment::of_this_process());
    if (device.is_gpu() && settings.products == ComputeType::float16)
        throw UsageError(
            "[train] matmul = \"float16\" scales the loss, and parameter servers leave out no steps: use "
            "\"float32\" or \"bfloat16\"");
    return device;
}

/// Returns the result of `train`. An error that all trainers throw together is printed here and becomes an
/// exit status, since the servers do not know of it and must end together with the trainers.
template <class Train>
int status_of_trainers(const Train& train, int trainers, const Console& console) {
    try {
        return train();
    } catch (const std::exception& failed) {
        if (!comm::failure_is_agreed_by(trainers)) throw;
        console.fail(error_of(failed));
        return dynamic_cast<const UsageError*>(&failed) != nullptr ? status_usage : status_failed;
    }
}

}  // namespace

int train_with_servers(const Options& options, Job job, int servers, const Communicator& world,
                       const Console& console) {
    const auto ranks = agreed(world, [&] { return ServerRanks(world, servers); });
    const auto settings = job.servers.value_or(ServerSettings{});
    const auto own = console.on(!ranks.serves() && ranks.number() == 0);
    agreed(world, [&] {
        check_servers_can_save(job.checkpoint);
        check_servers_add(job.train);
        return true;
    });
    prepare_click_caches(job, world, ranks.serves() ? nullptr : &ranks.peers(), own);
    auto input = agreed(world, [&] {
        if (ranks.serves())
            return JobInput{.job = job,
                            .task = nullptr,
                            .threads = compute_threads(Environment::of_this_process()),
                            .starts = starts_of(Environment::of_this_process())};
        return read_input(options, job, ranks.number(), true);
    });
    auto& train_settings = input.job.train;
    const auto device =
        agreed(world, [&] { return ranks.serves() ? Device::cpu() : device_of_trainer(train_settings); });
    if (!ranks.serves())
        train_settings.products = agreed_products(train_settings.products, device, ranks.peers(), own);
    auto plan = agreed(world, [&] {
        return ranks.serves() ? TrainingPlan{}
                              : plan_training(train_settings, std::move(input.task), ranks.peers(), true);
    });
    const auto* program = ranks.serves() ? nullptr : &plan.model.train;
    const auto transpiler =
        agreed(world, [&] { return transpile_together(ranks, world, settings, program); });
    agreed(world, [&] {
        if (!ranks.serves()) program::check_computes(transpiler.get_trainer_program(), device, ranks.peers());
        return true;
    });
    const auto server_settings = server_options(job, input.threads);
    const auto make_server = [&] {
        return agreed(world, [&] {
            std::optional<ParameterServer> own_server;
            if (ranks.serves()) own_server.emplace(ranks, transpiler, server_settings);
            return own_server;
        });
    };
    auto server = make_server();
    const auto tried = unless_refused(may_start_fresh(options, input.starts), own, [&] {
        return model::resume_servers(ranks, world, input.resume_from, server ? &*server : nullptr,
                                     server ? std::map<std::string, std::string>() : job_fields(plan),
                                     [&](const std::string& damaged) { own.complain(damaged); });
    });
    if (!tried) {  // some of the servers may already have loaded their parts
        server.reset();
        server = make_server();
    }
    const auto resumed = tried.value_or(std::nullopt);
    if (server) {
        const StopRequest trainers_stop_for_it({});
        server->run();
        return static_cast<int>(world.max(std::int64_t{0}));
    }
    Trainer trainer(transpiled(std::move(plan), transpiler, ranks, settings), ranks.peers(),
                    {input.threads, options.profile, settings.reject_not_finite},
                    std::make_unique<ServerConnection>(ranks, transpiler, server_settings));
    const auto train_all = [&] {
        // In geo mode the optimizer state is on the trainers.
        const auto complain = [&](const std::string& why) { own.complain(why); };
        if (resumed && settings.mode == ServerMode::geo) {
            trainer.resume({resumed->file / model::trainer_file}, complain);
            trainer.resume_rows(resumed->file, complain);
        } else if (resumed) {
            trainer.go_on_from(resumed->header);
        }
        return train_with(
            input, trainer, resumed ? std::optional(resumed->file) : std::nullopt, options, ranks.peers(),
            {.text = fmt::format("{} with {} ({}{})", counted(ranks.trainers(), "trainer"),
                                 counted(ranks.servers(), "parameter server"), to_string(settings.mode),
                                 settings.device.is_gpu() ? ", on GPUs" : ""),
             .first = ranks.servers()},
            own);
    };
    const auto status = status_of_trainers(train_all, ranks.trainers(), own);
    if (status == 0 && ranks.number() == 0) own.print(server_line(trainer.server_counts()));
    trainer.leave_servers();
    if (options.profile) print_profile(trainer, ranks.peers(), own);
    return static_cast<int>(world.max(std::int64_t{status}));
}

}  // namespace dtrain::native
