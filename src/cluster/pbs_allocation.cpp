// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/pbs_allocation.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::cluster {

std::optional<Allocation> pbs_allocation(
    const Environment& environment,
    const std::function<std::optional<std::string>(const std::string& path)>& read_file) {
    const auto job = environment.get("PBS_JOBID");
    const auto path = environment.get("PBS_NODEFILE");
    const auto content = job && path ? read_file(*path) : std::nullopt;
    if (!content) return std::nullopt;
    Allocation out{.job_id = *job, .scheduler = "PBS"};
    try {
        out.nodes = parse_hostfile(*content);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("PBS_NODEFILE={}: {}", *path, error.what()));
    }
    if (out.nodes.empty()) throw UsageError(fmt::format("PBS_NODEFILE={} names no node", *path));
    out.tasks_were_asked_for =
        std::any_of(out.nodes.begin(), out.nodes.end(), [](const HostSlots& node) { return node.slots > 1; });
    // Its hook for control groups names the GPUs of each node there.
    if (const auto gpus = environment.get("CUDA_VISIBLE_DEVICES"))
        out.gpus_of_node =
            gpus->empty() ? 0 : static_cast<int>(std::count(gpus->begin(), gpus->end(), ',')) + 1;
    return out;
}

}  // namespace dtrain::cluster
