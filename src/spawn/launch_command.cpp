// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "spawn/launch_command.hpp"

#include <dlfcn.h>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "spawn/spawn_request.hpp"

namespace dtrain::spawning {
namespace {

/// Looks below the prefix of the library: PREFIX/lib/..., PREFIX/bin; or both in a build folder.
std::optional<std::string> launcher_beside_library() {
    Dl_info library;
    if (::dladdr(reinterpret_cast<const void*>(&find_launcher), &library) == 0) return std::nullopt;
    std::error_code failed;
    const auto file = std::filesystem::canonical(library.dli_fname, failed);
    if (failed) return std::nullopt;
    auto folder = file.parent_path();
    constexpr int max_levels_up = 3;  // e.g. from lib/x86_64-linux-gnu
    for (int level = 0; level < max_levels_up && folder.has_relative_path(); ++level) {
        const auto launcher = folder / "bin" / "dtrain-launch";
        if (std::filesystem::is_regular_file(launcher, failed)) return launcher.string();
        folder = folder.parent_path();
    }
    return std::nullopt;
}

}  // namespace

std::string find_launcher(const Environment& environment) {
    if (const auto named = environment.get("DTRAIN_LAUNCH"); named && !named->empty()) return *named;
    if (const auto beside = launcher_beside_library()) return *beside;
    if (const auto in_path = find_in_path("dtrain-launch", environment)) return *in_path;
    throw UsageError(
        "spawn: there is no dtrain-launch beside the library or in PATH, which starts the ranks; name it by "
        "DTRAIN_LAUNCH");
}

std::vector<std::string> this_command() {
    auto args = split(read_file("/proc/self/cmdline").value_or(""), '\0');
    args.pop_back();  // after the last zero byte
    if (args.empty()) args.emplace_back();
    args.front() = this_executable().string();
    return args;
}

std::vector<std::string> launch_command(const std::string& launcher, const RanksToSpawn& ranks,
                                        const SpawnOptions& options, const SpawnFolder& folder,
                                        const std::vector<std::string>& program) {
    std::vector<std::string> command{launcher,
                                     "--no-banner",
                                     "--tee",
                                     "all",
                                     "--engine",
                                     "mpirun",
                                     "--ips",
                                     "127.0.0.1",
                                     "--nproc_per_node",
                                     std::to_string(ranks.count),
                                     "--backend",
                                     options.backend,
                                     "--log_dir",
                                     options.log_dir.empty() ? folder.logs().string() : options.log_dir,
                                     "--report",
                                     folder.report().string()};
    if (!ranks.gpus.empty()) append(command, {"--gpus", ranks.gpus});
    append(command, program);
    return command;
}

Environment launch_environment(Environment environment, const RanksToSpawn& ranks, std::size_t call,
                               const SpawnFolder& folder) {
    if (ranks.hides_gpus) environment.set("CUDA_VISIBLE_DEVICES", "");
    environment.unset("PADDLE_NUM_TRAINERS");  // would turn --gpus into a count
    // In an allocation, dtrain-launch and mpirun would use all of its nodes.
    const auto inherited = environment;
    for (const auto& [name, value] : inherited)
        if (const auto family = name.substr(0, name.find('_')); family == "SLURM" || family == "PBS")
            environment.unset(name);
    environment.set(request_variable, SpawnRequest{call, folder}.to_text());
    return environment;
}

}  // namespace dtrain::spawning
