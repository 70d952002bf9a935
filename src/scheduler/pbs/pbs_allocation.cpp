// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "scheduler/pbs/pbs_allocation.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::scheduler {

std::optional<Allocation> pbs_allocation(
    const Environment& environment,
    const std::function<std::optional<std::string>(const std::string& path)>& read_file) {
    const auto job = environment.get("PBS_JOBID");
    const auto path = environment.get("PBS_NODEFILE");
    const auto content = job && path ? read_file(*path) : std::nullopt;
    if (!content) return std::nullopt;
    Allocation out{.job_id = *job, .scheduler = "PBS"};
    try {
        out.nodes = cluster::parse_hostfile(*content);
    } catch (const UsageError& error) {
        throw UsageError(fmt::format("PBS_NODEFILE={}: {}", *path, error.what()));
    }
    if (out.nodes.empty()) throw UsageError(fmt::format("PBS_NODEFILE={} names no node", *path));
    out.task_count_requested = std::any_of(out.nodes.begin(), out.nodes.end(),
                                           [](const cluster::HostSlots& node) { return node.slots > 1; });
    // PBS' hook for control groups sets this variable to the GPUs of each node.
    if (const auto gpus = environment.get("CUDA_VISIBLE_DEVICES"))
        out.gpus_of_node =
            gpus->empty() ? 0 : static_cast<int>(std::count(gpus->begin(), gpus->end(), ',')) + 1;
    return out;
}

std::string pbs_prefix(const Environment& environment, std::string_view settings) {
    constexpr std::string_view name = "PBS_EXEC";
    if (auto named = environment.get_or(name, ""); !named.empty()) return named;
    std::string found;
    for (const auto& whole_line : split(settings, '\n')) {
        const auto line = trimmed(whole_line);
        if (!line.starts_with(name) || line.substr(name.size()).substr(0, 1) != "=") continue;
        auto value = line.substr(name.size() + 1);
        const bool is_quoted = value.size() > 1 && value.front() == value.back() &&
                               (value.front() == '"' || value.front() == '\'');
        found = is_quoted ? value.substr(1, value.size() - 2) : value;
    }
    return found.empty() ? "/opt/pbs" : found;
}

}  // namespace dtrain::scheduler
