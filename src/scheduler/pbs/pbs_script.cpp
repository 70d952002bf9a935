// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cctype>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "scheduler/batch_script.hpp"
#include "scheduler/pbs/pbs.hpp"

namespace dtrain::scheduler {
namespace {

constexpr int max_time_field = 100'000;  // days, hours, minutes or seconds

/// PBS sends SIGKILL 10 s after SIGTERM, unless the queue's kill_delay differs. A shorter grace time lets
/// dtrain-launch finish its cleanup first, so that no process outlives the job.
std::vector<std::string> ending_before_pbs_does(const JobRequest& request) {
    auto arguments = request.arguments;
    if (!request.grace_is_given) arguments.insert(arguments.begin(), "--grace=8");
    return arguments;
}

void refuse_type(const GpuRequest& gpus) {
    if (!gpus.type.empty())
        throw UsageError(fmt::format(
            "--gpus {}: PBS knows types of GPUs by names that each site gives; write --gpus {} and --qsub "
            "'-l gpu_type=...' or what your site has",
            gpus.text, gpus.count));
}

}  // namespace

/// Nodes and GPUs are given as chunks.
std::string Pbs::script(const JobRequest& request) const {
    const auto further = further_lines(request, *this, "--qsub='-W umask=077'");
    const auto& gpus = request.gpus;
    if (gpus) refuse_type(*gpus);
    const int tasks = tasks_of_node(request);
    const int processors = request.cpus.value_or(gpus ? gpus->count : tasks);
    auto out = script_begin();
    const auto ask = [&](const std::string& line) { out += "#PBS " + line + "\n"; };
    ask("-N " + name_in_pbs(request));
    ask(fmt::format("-l select={}:ncpus={}:mpiprocs={}{}", request.nodes, processors, tasks,
                    gpus ? fmt::format(":ngpus={}", gpus->count) : ""));
    if (request.nodes > 1) ask("-l place=scatter");
    if (request.time) ask("-l walltime=" + walltime_of(*request.time));
    if (request.partition) ask("-q " + plain("--partition", *request.partition));
    if (request.account) ask("-A " + plain("--account", *request.account));
    ask("-j oe");
    for (const auto& option : further) ask(option);
    out +=
        "set -e\n"
        "cd \"${PBS_O_WORKDIR:-$PWD}\"\n"
        "# PBS' commands in front of a Slurm cluster write no file of the nodes by themselves.\n"
        "if [ -z \"${PBS_NODEFILE:-}\" ] && command -v generate_pbs_nodefile >/dev/null; then\n"
        "    PBS_NODEFILE=$(generate_pbs_nodefile)\n"
        "    export PBS_NODEFILE\n"
        "fi\n";
    return out + script_end(request, ending_before_pbs_does(request));
}

std::string name_in_pbs(const JobRequest& request) {
    constexpr std::size_t max = 15;
    auto name = name_of_job(request);
    if (std::isalpha(static_cast<unsigned char>(name.front())) == 0) name.insert(0, "j");
    return name.substr(0, max);
}

std::string walltime_of(const std::string& time) {
    const auto refuse = [&]() -> int {
        throw UsageError(fmt::format("--time {}: write 90 (minutes), 1:30:00, or 2-12 (days-hours)", time));
    };
    const auto number = [&](const std::string& text) {
        const auto value = parse_int(text);
        return value && *value >= 0 && *value <= max_time_field ? *value : refuse();
    };
    const auto dash = time.find('-');
    const bool with_days = dash != std::string::npos;
    const auto fields = split(with_days ? time.substr(dash + 1) : time, ':');
    if (fields.size() > 3) refuse();
    std::array<int, 3> clock{};  // hours, minutes, seconds
    // With days the first field is hours. Without days, two fields are minutes and seconds, one is minutes.
    const std::size_t first = with_days || fields.size() == 3 ? 0 : 1;
    for (std::size_t field = 0; field < fields.size(); ++field)
        clock.at(first + field) = number(fields[field]);
    const long days = with_days ? number(time.substr(0, dash)) : 0;
    const long seconds = ((days * 24 + clock[0]) * 60 + clock[1]) * 60 + clock[2];
    return fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

}  // namespace dtrain::scheduler
