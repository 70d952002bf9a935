// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "scheduler/batch_script.hpp"
#include "scheduler/slurm/slurm.hpp"

namespace dtrain::scheduler {
namespace {

constexpr std::chrono::seconds before_the_limit{30};  // in addition to the grace time
constexpr std::chrono::seconds slurm_notices_in{60};  // the resolution of its --signal

std::string gres_of(const GpuRequest& gpus) {
    return gpus.type.empty() ? std::to_string(gpus.count) : fmt::format("{}:{}", gpus.type, gpus.count);
}

}  // namespace

/// The programs get SIGTERM early enough before the time limit.
std::string Slurm::script(const JobRequest& request) const {
    const auto further = further_lines(request, *this, "--sbatch=--exclusive");
    const auto& gpus = request.gpus;
    auto out = script_begin();
    const auto ask = [&](const std::string& line) { out += "#SBATCH " + line + "\n"; };
    ask("--job-name=" + name_of_job(request));
    ask(fmt::format("--nodes={}", request.nodes));
    ask(fmt::format("--ntasks-per-node={}", tasks_of_node(request)));
    if (request.cpus || gpus)
        ask(fmt::format("--cpus-per-task={}", request.cpus.value_or(gpus ? gpus->count : 1)));
    if (gpus) ask("--gres=gpu:" + plain("--gpus", gres_of(*gpus)));
    if (request.time) ask("--time=" + plain("--time", *request.time));
    if (request.partition) ask("--partition=" + plain("--partition", *request.partition));
    if (request.account) ask("--account=" + plain("--account", *request.account));
    const auto warned = std::max<std::chrono::seconds>(
        slurm_notices_in, std::chrono::ceil<std::chrono::seconds>(request.grace) + before_the_limit);
    ask(fmt::format("--signal=B:TERM@{}", warned.count()));
    ask(fmt::format("--output={}-%j.out", name_of_job(request)));
    for (const auto& option : further) ask(option);
    out += "set -e\n";
    return out + script_end(request, request.arguments);
}

}  // namespace dtrain::scheduler
