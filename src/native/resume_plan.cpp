// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/resume_plan.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::native {
namespace {

/// Whether a folder has no file that a checkpoint, even a damaged one, would have.
bool has_nothing_of_checkpoints(const std::filesystem::path& folder) {
    return std::filesystem::is_directory(folder) &&
           std::ranges::none_of(std::filesystem::directory_iterator(folder),
                                [](const auto& entry) { return entry.path().extension() == ".h5"; });
}

std::vector<std::filesystem::path> named_checkpoints(const Options& options,
                                                     const CheckpointSettings& settings) {
    if (options.resume_from) {
        auto of_folder = CheckpointFolder(*options.resume_from).candidates();
        if (of_folder.empty() && has_nothing_of_checkpoints(*options.resume_from))
            throw UsageError(fmt::format("--resume {}: this folder is no checkpoint, and there is none in it",
                                         options.resume_from->string()));
        return of_folder.empty() ? std::vector{*options.resume_from} : of_folder;
    }
    if (!options.resume) return {};
    auto found = CheckpointFolder(*settings.dir).candidates();
    if (found.empty() && !options.fallback_to_start)
        throw UsageError(fmt::format("--resume: there is no checkpoint in {}", settings.dir->string()));
    return found;
}

}  // namespace

Starts starts_of(const Environment& environment) {
    const auto run = environment.get_or("DTRAIN_RUN_ID", "");
    if (run.empty()) return {};
    return {run, parse_int(environment.get_or("PADDLE_RESTART_COUNT", "")).value_or(0)};
}

std::vector<std::filesystem::path> checkpoints_to_try(const Options& options,
                                                      const CheckpointSettings& settings,
                                                      const Starts& starts) {
    std::vector<std::filesystem::path> files;
    if (starts.before > 0 && settings.dir) files = CheckpointFolder(*settings.dir, starts.run).own();
    for (auto& named : named_checkpoints(options, settings))
        if (std::ranges::find(files, named) == files.end()) files.push_back(std::move(named));
    return files;
}

bool may_start_fresh(const Options& options, const Starts& starts) {
    return starts.before > 0 && !options.resume;
}

std::string restart_message(const CheckpointSettings& settings, const Starts& starts) {
    if (starts.before == 0) return "";
    const auto why = settings.dir ? fmt::format("in {} is no checkpoint of this job that it could go on from",
                                                settings.dir->string())
                                  : std::string("this job keeps no checkpoints");
    return fmt::format("restart   {} begins anew: {}\n", starts.before, why);
}

}  // namespace dtrain::native
