// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "scheduler/slurm/slurm_allocation.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/contracts.hpp"
#include "identity/slurm_counts.hpp"

namespace dtrain::scheduler {
namespace {

/// "a100:4" and "4" -> 4; nothing if there is no number.
std::optional<int> last_number(std::string_view text) {
    const auto parts = split(trimmed(text), ':');
    const auto number = parse_int(parts.back());
    return number && *number >= 0 ? number : std::nullopt;
}

std::optional<int> given_gpus(const Environment& environment) {
    for (const char* name : {"SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE"})
        if (const auto text = environment.get(name))
            if (const auto count = last_number(*text)) return count;
    if (const auto ids = environment.get("SLURM_JOB_GPUS"); ids && !ids->empty())
        return static_cast<int>(split(*ids, ',').size());
    return std::nullopt;
}

/// "gpu:a100:2(IDX:0-1),gpu:t4:1(IDX:2),nic:1" -> 3
int gpus_in(std::string_view gres) {
    int total = 0;
    std::string flat;
    bool inside = false;
    for (const char letter : gres) {
        inside = (inside || letter == '(') && letter != ')';
        if (!inside && letter != ')') flat += letter;
    }
    for (const auto& item : split(flat, ','))
        if (item.starts_with("gpu")) total += last_number(item).value_or(1);
    return total;
}

}  // namespace

std::optional<Allocation> slurm_allocation(const Environment& environment) {
    const auto nodelist = environment.get_or("SLURM_JOB_NODELIST", "");
    const auto job_id = environment.get_or("SLURM_JOB_ID", "");
    if (nodelist.empty() || job_id.empty() || cluster::read_slurm(environment)) return std::nullopt;

    Allocation out{.job_id = job_id, .gpus_of_node = given_gpus(environment)};
    const auto hosts = cluster::expand_nodelist(nodelist);
    const char* tasks_name = "SLURM_TASKS_PER_NODE";
    const auto tasks_text = environment.get_or(tasks_name, "");
    const auto tasks = tasks_text.empty() ? std::vector<int>(hosts.size(), 1)
                                          : cluster::expand_counts(tasks_name, tasks_text);
    if (tasks.size() != hosts.size())
        throw UsageError(
            fmt::format("{}={} does not describe the nodes of SLURM_JOB_NODELIST={}; start dtrain-launch "
                        "in sbatch or salloc, or unset both",
                        tasks_name, tasks_text, nodelist));
    for (std::size_t node = 0; node < hosts.size(); ++node)
        out.nodes.push_back({.host = hosts[node], .slots = std::max(1, tasks[node])});
    out.task_count_requested = environment.has("SLURM_NTASKS") || environment.has("SLURM_NTASKS_PER_NODE");
    return out;
}

int gpus_of_node(std::string_view scontrol_output) {
    constexpr std::string_view nodes_word = "Nodes=";
    constexpr std::string_view gres_word = " GRES=";
    std::optional<int> min;
    for (const auto& line : split(scontrol_output, '\n')) {
        const auto text = trimmed(line);
        const auto gres = text.find(gres_word);
        if (!text.starts_with(nodes_word) || gres == std::string_view::npos) continue;
        const int gpus = gpus_in(text.substr(gres + gres_word.size()));
        min = std::min(min.value_or(gpus), gpus);
    }
    return min.value_or(0);
}

}  // namespace dtrain::scheduler
