// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "spawn/ranks_to_spawn.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.hpp"
#include "topology/select_gpus.hpp"

namespace dtrain::spawning {
namespace {

using topology::ids_of;
using topology::VisibleGpu;

constexpr int all_available = -1;
constexpr std::array backends{"auto", "nccl", "gloo"};

void check_values(const SpawnOptions& options) {
    if (options.nprocs < 1 && options.nprocs != all_available)
        throw UsageError(
            fmt::format("spawn: nprocs is {}; it is a number of ranks, or -1 for one on each visible GPU "
                        "(without GPUs: each core)",
                        options.nprocs));
    if (std::ranges::find(backends, options.backend) == backends.end())
        throw UsageError(fmt::format("spawn: backend is \"{}\", expected \"auto\", \"nccl\" or \"gloo\"",
                                     options.backend));
}

RanksToSpawn on_cores(const SpawnOptions& options, const topology::Machine& machine, bool hides_gpus) {
    if (!options.gpus.empty())
        throw UsageError(
            fmt::format("spawn: gpus \"{}\" are named, but backend is \"gloo\": its ranks have no GPU; leave "
                        "one of the two out",
                        options.gpus));
    const auto cores = std::max(static_cast<int>(machine.cores.size()), 1);
    return {options.nprocs == all_available ? cores : options.nprocs, "", hides_gpus};
}

RanksToSpawn on_selected(const SpawnOptions& options, const topology::Machine& machine,
                         const std::vector<VisibleGpu>& visible) {
    const auto selected =
        select_gpus(options.gpus, visible, machine,
                    {.name = "spawn: gpus", .without_gpus = "leave gpus out for ranks on the CPU"});
    const auto count = static_cast<int>(selected.size());
    if (options.nprocs != all_available && options.nprocs != count)
        throw UsageError(
            fmt::format("spawn: gpus \"{}\" are {}, but nprocs is {}; name as many, or leave nprocs out",
                        options.gpus, counted(count, "GPU"), options.nprocs));
    return {count, ids_of(selected), false};
}

RanksToSpawn on_first(const SpawnOptions& options, const std::vector<VisibleGpu>& visible) {
    const auto count = options.nprocs == all_available ? static_cast<int>(visible.size()) : options.nprocs;
    if (count > std::ssize(visible))
        throw UsageError(
            fmt::format("spawn: nprocs is {}, but of the GPUs only {} visible here; make more so by "
                        "CUDA_VISIBLE_DEVICES, or take backend \"gloo\" for ranks on the CPU",
                        count, visible.size() == 1 ? ids_of(visible) + " is" : ids_of(visible) + " are"));
    return {count, ids_of({visible.begin(), visible.begin() + count}), false};
}

}  // namespace

RanksToSpawn ranks_to_spawn(const SpawnOptions& options, const topology::Machine& machine,
                            const std::vector<VisibleGpu>& visible) {
    check_values(options);
    if (options.backend == "gloo") return on_cores(options, machine, !visible.empty());
    if (!options.gpus.empty()) return on_selected(options, machine, visible);
    if (!visible.empty()) return on_first(options, visible);
    if (options.backend == "nccl")
        throw UsageError(
            "spawn: backend is \"nccl\", but no NVIDIA GPU is visible on this machine; take \"gloo\" for "
            "ranks on the CPU");
    return on_cores(options, machine, false);
}

}  // namespace dtrain::spawning
