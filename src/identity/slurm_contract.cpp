// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <numeric>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/slurm_task.hpp"
#include "base/text.hpp"
#include "identity/contracts.hpp"
#include "identity/slurm_counts.hpp"

namespace dtrain::cluster {
namespace {

/// The step's own variable if set, else the one that older Slurm versions set for the step.
const char* step_or_job(const Environment& environment, const char* step, const char* job) {
    return environment.has(step) ? step : job;
}

/// The number of ranks on each node if they are numbered node by node (srun's distribution "block"), else
/// nothing. One rank per node is the same in every distribution, and srun then calls it "cyclic"; so is a
/// single node.
std::vector<int> block_counts(const Environment& environment, const Identity& identity,
                              std::vector<int> tasks) {
    const auto distribution = environment.get_or("SLURM_DISTRIBUTION", "block");
    const bool one_each = identity.size == identity.nodes;
    const bool one_node = identity.nodes == 1;
    const auto own = tasks.begin() + identity.node_rank;
    const bool matches = std::accumulate(tasks.begin(), own, 0) + identity.local_rank == identity.rank;
    if (!matches || (!distribution.starts_with("block") && !one_each && !one_node)) tasks.clear();
    return tasks;
}

}  // namespace

std::optional<Identity> read_slurm(const Environment& environment) {
    if (!is_slurm_task(environment)) return std::nullopt;
    const char* size_name = step_or_job(environment, "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS");
    const char* nodes_name = step_or_job(environment, "SLURM_STEP_NUM_NODES", "SLURM_NNODES");
    const char* tasks_name = step_or_job(environment, "SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE");
    const char* hosts_name = step_or_job(environment, "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST");

    Identity out;
    out.launcher = Launcher::slurm;
    out.rank = contract_int(environment, "SLURM_PROCID", "SLURM_STEP_ID");
    out.size = contract_int(environment, size_name, "SLURM_PROCID", 1);
    out.local_rank = contract_int(environment, "SLURM_LOCALID", "SLURM_PROCID");
    out.node_rank = contract_int(environment, "SLURM_NODEID", "SLURM_PROCID");
    out.nodes = contract_int(environment, nodes_name, "SLURM_PROCID", 1);
    require_below("SLURM_PROCID", out.rank, size_name, out.size);
    require_below("SLURM_NODEID", out.node_rank, nodes_name, out.nodes);

    const auto tasks_text = environment.get_or(tasks_name, "");
    const auto tasks = expand_counts(tasks_name, tasks_text);
    if (tasks.size() != static_cast<std::size_t>(out.nodes) ||
        std::accumulate(tasks.begin(), tasks.end(), std::int64_t{0}) != out.size)
        throw UsageError(
            fmt::format("{}={} does not describe {}={} tasks on {}={} nodes; start the job through srun",
                        tasks_name, tasks_text, size_name, out.size, nodes_name, out.nodes));
    out.local_size = tasks[static_cast<std::size_t>(out.node_rank)];
    require_below("SLURM_LOCALID", out.local_rank, tasks_name, out.local_size);
    out.ranks_of_node = block_counts(environment, out, tasks);

    if (environment.has(hosts_name)) {
        auto hosts = expand_nodelist(environment.get_or(hosts_name, ""));
        if (hosts.size() == static_cast<std::size_t>(out.nodes)) out.hosts = std::move(hosts);
    }
    out.job_id = fmt::format("{}.{}", environment.get_or("SLURM_JOB_ID", "0"),
                             environment.get_or("SLURM_STEP_ID", "0"));
    return out;
}

std::vector<HostSlots> slurm_job_nodes(const Environment& environment) {
    const auto hosts = expand_nodelist(environment.get_or("SLURM_JOB_NODELIST", ""));
    std::vector<HostSlots> out;
    for (const auto& host : hosts) out.push_back({host, 0});
    const auto cpus = environment.get_or("SLURM_JOB_CPUS_PER_NODE", "");
    if (out.empty() || cpus.empty()) return out;
    const auto slots = expand_counts("SLURM_JOB_CPUS_PER_NODE", cpus);
    if (slots.size() == out.size())
        for (std::size_t i = 0; i < out.size(); ++i) out[i].slots = slots[i];
    return out;
}

}  // namespace dtrain::cluster
