// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/batch_script.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/shell_words.hpp"
#include "base/text.hpp"
#include "launch/option_table.hpp"

namespace dtrain::launch {
namespace {

constexpr auto default_log_dir = "log/%j";
constexpr std::chrono::seconds before_the_limit{30};  // beside the grace time
constexpr std::chrono::seconds slurm_notices_in{60};  // the resolution of its --signal

/// What the queue decides: such options are not for the job.
bool is_for_the_queue(const OptionRow& row) {
    constexpr std::array<std::string_view, 3> others{"nnodes", "gpus", "dry-run"};
    return row.group == OptionGroup::submit ||
           std::find(others.begin(), others.end(), row.name) != others.end();
}

/// A value on a line of the script's head, where nothing is quoted.
std::string plain(const std::string& option, const std::string& value) {
    const bool usable = !value.empty() && std::none_of(value.begin(), value.end(), [](char letter) {
        return static_cast<unsigned char>(letter) <= ' ' || letter == '#' || letter == '"' || letter == '\'';
    });
    if (!usable)
        throw UsageError(
            fmt::format("{} {}: a batch script takes no blanks, quotes or # there", option, value));
    return value;
}

int nodes_of(const Options& options) {
    const auto nodes = parse_int(trimmed(options.nnodes));
    if (!nodes || *nodes < 1)
        throw UsageError(fmt::format("--nodes {} is no number of nodes", options.nnodes));
    return *nodes;
}

struct Gpus {
    std::string gres;  ///< "4", "a100:4"
    int count = 0;
};

std::optional<Gpus> gpus_of(const Options& options) {
    if (!options.gpus) return std::nullopt;
    const auto& text = *options.gpus;
    if (text.find(',') != std::string::npos) {
        const auto count = static_cast<int>(split(text, ',').size());
        return Gpus{.gres = std::to_string(count), .count = count};
    }
    const auto count = parse_int(split(text, ':').back());
    if (!count || *count < 1)
        throw UsageError(fmt::format(
            "--gpus {}: a job that is submitted gets a number of GPUs on each node: 4, or a100:4", text));
    return Gpus{.gres = plain("--gpus", text), .count = *count};
}

std::string name_of_job(const Options& options) {
    auto name = std::filesystem::path(options.script).stem().string();
    std::replace_if(
        name.begin(), name.end(), [](unsigned char letter) { return std::isalnum(letter) == 0; }, '-');
    return name.empty() ? "dtrain" : name;
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

std::string slurm_script(const Options& options, const std::string& launcher,
                         const std::vector<std::string>& job) {
    const auto gpus = gpus_of(options);
    const int processes = options.nproc_per_node.value_or(1);
    std::string out = "#!/bin/bash\n# Made by dtrain-launch submit.\n";
    const auto ask = [&](const std::string& line) { out += "#SBATCH " + line + "\n"; };
    ask("--job-name=" + name_of_job(options));
    ask(fmt::format("--nodes={}", nodes_of(options)));
    // With GPUs dtrain-launch starts a rank for each; the node's processors are for all of them.
    ask(fmt::format("--ntasks-per-node={}", gpus || options.cpus ? 1 : processes));
    if (options.cpus || gpus)
        ask(fmt::format("--cpus-per-task={}", options.cpus.value_or(gpus ? gpus->count : 1)));
    if (gpus) ask("--gres=gpu:" + gpus->gres);
    if (options.time) ask("--time=" + plain("--time", *options.time));
    if (options.partition) ask("--partition=" + plain("--partition", *options.partition));
    if (options.account) ask("--account=" + plain("--account", *options.account));
    const auto warned = std::max<std::chrono::seconds>(
        slurm_notices_in, std::chrono::ceil<std::chrono::seconds>(options.grace) + before_the_limit);
    ask(fmt::format("--signal=B:TERM@{}", warned.count()));
    ask(fmt::format("--output={}-%j.out", name_of_job(options)));
    for (const auto& option : options.sbatch) {
        if (option.find_first_of("\n\r") != std::string::npos || !option.starts_with("-"))
            throw UsageError(
                fmt::format("--sbatch {} is no option of sbatch; write --sbatch=--exclusive", option));
        ask(option);
    }
    out += "set -e\n";
    if (options.modules) {
        out += "module load";
        for (const auto& module : shell_words(*options.modules)) out += " " + shell_quoted(module);
        out += "\n";
    }
    out += "exec " + shell_quoted(launcher);
    // The processes of a node are no longer told by its tasks.
    if (!gpus && options.cpus && !options.nproc_per_node) out += " --nproc_per_node=1";
    for (const auto& word : job) out += " " + shell_quoted(word);
    return out + "\n";
}

std::string how_to_follow(const std::string& job_id, const Options& options) {
    const auto name = name_of_job(options);
    auto log_dir = options.log_dir == Options().log_dir ? std::string(default_log_dir) : options.log_dir;
    if (const auto at = log_dir.find("%j"); at != std::string::npos) log_dir.replace(at, 2, job_id);
    return fmt::format(
        "job {0}\n"
        "  state   squeue --jobs={0}\n"
        "  output  tail -F {1}-{0}.out\n"
        "  logs    {2}\n"
        "  stop    scancel --batch --signal=TERM {0}   (programs can write a checkpoint)\n"
        "  kill    scancel {0}\n",
        job_id, name, log_dir);
}

}  // namespace dtrain::launch
