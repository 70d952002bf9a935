// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/job_for_queue.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "launch/options/option_table.hpp"

namespace dtrain::launch {
namespace {

constexpr auto default_log_dir = "log/%j";

/// Whether the option is for the queue and not passed on to the job.
bool is_for_the_queue(const OptionRow& row) {
    constexpr std::array<std::string_view, 3> others{"nnodes", "gpus", "dry-run"};
    return row.group == OptionGroup::submit ||
           std::find(others.begin(), others.end(), row.name) != others.end();
}

int nodes_of(const Options& options) {
    const auto nodes = parse_int(trimmed(options.nnodes));
    if (!nodes || *nodes < 1)
        throw UsageError(fmt::format("--nodes {} is no number of nodes", options.nnodes));
    return *nodes;
}

std::optional<scheduler::GpuRequest> gpus_of(const Options& options) {
    if (!options.gpus) return std::nullopt;
    const auto& text = *options.gpus;
    if (text.find(',') != std::string::npos)
        return scheduler::GpuRequest{
            .text = text, .type = {}, .count = static_cast<int>(split(text, ',').size())};
    const auto colon = text.rfind(':');
    const bool has_type = colon != std::string::npos;
    const auto count = parse_int(has_type ? text.substr(colon + 1) : text);
    if (!count || *count < 1)
        throw UsageError(fmt::format(
            "--gpus {}: a job that is submitted gets a number of GPUs on each node: 4, or a100:4", text));
    return scheduler::GpuRequest{
        .text = text, .type = has_type ? text.substr(0, colon) : std::string(), .count = *count};
}

bool grace_is_given(const Options& options, const std::vector<std::string>& job) {
    return options.grace != Options{}.grace ||
           std::ranges::any_of(job, [](const std::string& arg) { return arg.starts_with("--grace="); });
}

}  // namespace

std::vector<std::string> options_of_job(const ParsedOptions& parsed) {
    std::vector<std::string> out;
    const auto typed = [&](std::string_view name) {
        const auto origin = parsed.origins.find(std::string(name));
        return origin != parsed.origins.end() && origin->second == "command line";
    };
    if (!parsed.origins.contains("log_dir")) out.push_back(fmt::format("--log_dir={}", default_log_dir));
    for (const auto& row : option_table()) {
        if (row.field.index() == 0 || is_for_the_queue(row) || !typed(row.name)) continue;
        if (const auto* list = std::get_if<std::vector<std::string> Options::*>(&row.field)) {
            for (const auto& value : parsed.options.*(*list))
                out.push_back(fmt::format("--{}={}", row.name, value));
        } else {
            out.push_back(fmt::format("--{}={}", row.name, value_text(parsed.options, row)));
        }
    }
    return out;
}

scheduler::JobRequest job_request(const Options& options, std::string launcher,
                                  std::vector<std::string> job) {
    const bool has_grace = grace_is_given(options, job);
    return {.program = options.script,
            .nodes = nodes_of(options),
            .gpus = gpus_of(options),
            .cpus = options.cpus,
            .nproc_per_node = options.nproc_per_node,
            .time = options.time,
            .partition = options.partition,
            .account = options.account,
            .modules = options.modules,
            .further = {{"--sbatch", options.sbatch}, {"--qsub", options.qsub}},
            .grace = options.grace,
            .grace_is_given = has_grace,
            .launcher = std::move(launcher),
            .arguments = std::move(job)};
}

std::string log_dir_of_job(const std::string& number, const Options& options) {
    auto log_dir = options.log_dir == Options().log_dir ? std::string(default_log_dir) : options.log_dir;
    const auto& name = options.job_id == Options().job_id ? number : options.job_id;
    if (const auto at = log_dir.find("%j"); at != std::string::npos) log_dir.replace(at, 2, name);
    return log_dir;
}

std::string how_to_follow(const scheduler::Scheduler& scheduler, const scheduler::JobRequest& request,
                          const std::string& number, const Options& options) {
    return fmt::format(
        "job {0}\n"
        "  state   dtrain-launch status {0}\n"
        "  logs    dtrain-launch logs -f {0}   (they are in {1})\n"
        "  output  {2}\n"
        "  stop    dtrain-launch cancel {0}   (programs can write a checkpoint)\n"
        "  kill    dtrain-launch cancel --now {0}\n",
        number, log_dir_of_job(number, options), scheduler.output_file(request, number));
}

}  // namespace dtrain::launch
