// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/training.hpp"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <dtrain/environment.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "native/agreed.hpp"
#include "native/click_caches.hpp"
#include "native/job_input.hpp"
#include "native/products.hpp"
#include "native/report.hpp"
#include "native/server_job.hpp"
#include "native/server_training.hpp"
#include "native/trainer.hpp"
#include "native/training_run.hpp"
#include "program/device/check_gpu.hpp"
#include "program/device/gpu_choice.hpp"

namespace dtrain::native {
namespace {

/// The path as one would type it in the current folder.
std::string as_typed(const std::filesystem::path& path) {
    if (path.is_relative()) return path.string();
    std::error_code failed;
    const auto relative = std::filesystem::proximate(path, failed);
    return failed || relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
}

void check_ranks_can_save(const CheckpointSettings& settings) {
    if (settings.full_every > 1)
        throw UsageError(fmt::format(
            "[checkpoint] full_every is {}, and this job has no parameter servers: their tables alone "
            "are saved by what changed; leave it out",
            settings.full_every));
}

}  // namespace

int train(const Options& options, const Communicator& world, const std::string& command,
          const Console& console) {
    auto job = agreed(world, [&] { return read_job_of(options); });
    const auto servers = agreed(
        world, [&] { return count_servers(job, Environment::of_this_process(), world, program_number()); });
    if (servers > 0) return train_with_servers(options, std::move(job), servers, world, console);

    agreed(world, [&] {
        check_ranks_can_save(job.checkpoint);
        return true;
    });
    prepare_click_caches(job, world, &world, console);
    auto input = agreed(world, [&] { return read_input(options, std::move(job), world.rank(), false); });
    const auto device = agreed(world, [&] {
        return program::device_to_use(input.job.train.device, Environment::of_this_process(),
                                      program::why_not_on_a_gpu(input.job.train.one_copy));
    });
    auto& products = input.job.train.products;
    products = agreed_products(products, device, world, console);
    auto trainer = agreed(world, [&] {
        return Trainer(input.job.train, std::move(input.task), world, input.threads, options.profile);
    });
    const bool resumes = world.sum(std::int64_t{!input.resume_from.empty()}) > 0;
    std::optional<std::filesystem::path> resumed;
    if (resumes)
        resumed = unless_refused(may_start_fresh(options, input.starts), console, [&] {
            return trainer.resume(input.resume_from,
                                  [&](const std::string& damaged) { console.complain(damaged); });
        });
    const auto status =
        train_with(input, trainer, resumed, options, world, {.text = counted(world.size(), "rank")}, console);
    if (status != 0) return status;
    if (options.profile) print_profile(trainer, world, console);
    if (!options.job)
        console.print(fmt::format(
            "\n{}", next_steps(as_typed(command), as_typed(built_in_job()), 2 * input.job.train.epochs)));
    return 0;
}

}  // namespace dtrain::native
