// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/batch_script.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/shell_args.hpp"
#include "base/text.hpp"
#include "launch/option_table.hpp"

namespace dtrain::launch {
namespace {

constexpr auto default_log_dir = "log/%j";
constexpr auto script_begin = "#!/bin/bash\n# Made by dtrain-launch submit.\n";
constexpr int most_of_time = 100'000;                 // days, hours, minutes or seconds
constexpr std::chrono::seconds before_the_limit{30};  // in addition to the grace time
constexpr std::chrono::seconds slurm_notices_in{60};  // the resolution of its --signal

/// Whether the option is for the queue and not passed on to the job.
bool is_for_the_queue(const OptionRow& row) {
    constexpr std::array<std::string_view, 3> others{"nnodes", "gpus", "dry-run"};
    return row.group == OptionGroup::submit ||
           std::find(others.begin(), others.end(), row.name) != others.end();
}

/// Checks a value for the scheduler's header lines, in which nothing is quoted.
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
    std::string gres;  ///< e.g. "4", "a100:4"
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

/// With GPUs dtrain-launch starts one rank per GPU; all processors of the node are shared by its ranks.
int ranks_to_ask_for(const Options& options, const std::optional<Gpus>& gpus) {
    return gpus || options.cpus ? 1 : options.nproc_per_node.value_or(1);
}

void refuse_other(const std::vector<std::string>& values, std::string_view option, Scheduler scheduler) {
    if (!values.empty())
        throw UsageError(
            fmt::format("{} {} is for another scheduler than {}; remove it, or name that one "
                        "with --scheduler",
                        option, values.front(), to_string(scheduler)));
}

/// An additional line for the scheduler.
std::string further(std::string_view option, std::string_view example, const std::string& value) {
    if (value.find_first_of("\n\r") != std::string::npos || !value.starts_with("-"))
        throw UsageError(
            fmt::format("{} {} is no option of {}; write {}", option, value, option.substr(2), example));
    return value;
}

/// PBS sends SIGKILL 10 s after SIGTERM, unless the queue's kill_delay differs. A shorter grace time lets
/// dtrain-launch finish its cleanup first, so that no process outlives the job.
std::vector<std::string> ending_before_pbs_does(const Options& options, std::vector<std::string> job) {
    const bool is_given = options.grace != Options{}.grace ||
                          std::any_of(job.begin(), job.end(),
                                      [](const std::string& arg) { return arg.starts_with("--grace="); });
    if (!is_given) job.insert(job.begin(), "--grace=8");
    return job;
}

/// The script's last lines.
std::string commands_of(const Options& options, const std::string& launcher,
                        const std::vector<std::string>& job, bool with_gpus) {
    std::string out;
    if (options.modules) {
        out += "module load";
        for (const auto& module : shell_args(*options.modules)) out += " " + shell_quoted(module);
        out += "\n";
    }
    out += "exec " + shell_quoted(launcher);
    // The number of tasks per node no longer tells the number of processes.
    if (!with_gpus && options.cpus && !options.nproc_per_node) out += " --nproc_per_node=1";
    for (const auto& arg : job) out += " " + shell_quoted(arg);
    return out + "\n";
}

}  // namespace

std::string name_in_pbs(const Options& options) {
    constexpr std::size_t max = 15;
    auto name = name_of_job(options);
    if (std::isalpha(static_cast<unsigned char>(name.front())) == 0) name.insert(0, "j");
    return name.substr(0, max);
}

std::string to_string(Scheduler scheduler) {
    return scheduler == Scheduler::slurm ? "slurm" : "pbs";
}

SchedulerChoice choose_scheduler(const std::string& asked, bool has_sbatch, bool has_qsub) {
    if (asked == "slurm") return {Scheduler::slurm, ""};
    if (asked == "pbs") return {Scheduler::pbs, ""};
    if (has_qsub && !has_sbatch) return {Scheduler::pbs, ""};
    return {Scheduler::slurm,
            has_qsub && has_sbatch
                ? "sbatch and qsub are both here: the job is for Slurm; --scheduler pbs makes it "
                  "one for PBS"
                : ""};
}

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
    refuse_other(options.qsub, "--qsub", Scheduler::slurm);
    const auto gpus = gpus_of(options);
    std::string out = script_begin;
    const auto ask = [&](const std::string& line) { out += "#SBATCH " + line + "\n"; };
    ask("--job-name=" + name_of_job(options));
    ask(fmt::format("--nodes={}", nodes_of(options)));
    ask(fmt::format("--ntasks-per-node={}", ranks_to_ask_for(options, gpus)));
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
    for (const auto& option : options.sbatch) ask(further("--sbatch", "--sbatch=--exclusive", option));
    out += "set -e\n";
    return out + commands_of(options, launcher, job, gpus.has_value());
}

std::string pbs_script(const Options& options, const std::string& launcher,
                       const std::vector<std::string>& job) {
    refuse_other(options.sbatch, "--sbatch", Scheduler::pbs);
    const auto gpus = gpus_of(options);
    if (gpus && gpus->gres != std::to_string(gpus->count))
        throw UsageError(fmt::format(
            "--gpus {}: PBS knows types of GPUs by names that each site gives; write --gpus {} and --qsub "
            "'-l gpu_type=...' or what your site has",
            *options.gpus, gpus->count));
    const int nodes = nodes_of(options);
    const int ranks = ranks_to_ask_for(options, gpus);
    const int processors = options.cpus.value_or(gpus ? gpus->count : ranks);
    std::string out = script_begin;
    const auto ask = [&](const std::string& line) { out += "#PBS " + line + "\n"; };
    ask("-N " + name_in_pbs(options));
    ask(fmt::format("-l select={}:ncpus={}:mpiprocs={}{}", nodes, processors, ranks,
                    gpus ? fmt::format(":ngpus={}", gpus->count) : ""));
    if (nodes > 1) ask("-l place=scatter");
    if (options.time) ask("-l walltime=" + walltime_of(*options.time));
    if (options.partition) ask("-q " + plain("--partition", *options.partition));
    if (options.account) ask("-A " + plain("--account", *options.account));
    ask("-j oe");
    for (const auto& option : options.qsub) ask(further("--qsub", "--qsub='-W umask=077'", option));
    out +=
        "set -e\n"
        "cd \"${PBS_O_WORKDIR:-$PWD}\"\n"
        "# PBS' commands in front of a Slurm cluster write no file of the nodes by themselves.\n"
        "if [ -z \"${PBS_NODEFILE:-}\" ] && command -v generate_pbs_nodefile >/dev/null; then\n"
        "    PBS_NODEFILE=$(generate_pbs_nodefile)\n"
        "    export PBS_NODEFILE\n"
        "fi\n";
    return out + commands_of(options, launcher, ending_before_pbs_does(options, job), gpus.has_value());
}

std::string walltime_of(const std::string& time) {
    const auto refuse = [&]() -> int {
        throw UsageError(fmt::format("--time {}: write 90 (minutes), 1:30:00, or 2-12 (days-hours)", time));
    };
    const auto number = [&](const std::string& text) {
        const auto value = parse_int(text);
        return value && *value >= 0 && *value <= most_of_time ? *value : refuse();
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

std::string log_dir_of_job(const std::string& number, const Options& options) {
    auto log_dir = options.log_dir == Options().log_dir ? std::string(default_log_dir) : options.log_dir;
    const auto& name = options.job_id == Options().job_id ? number : options.job_id;
    if (const auto at = log_dir.find("%j"); at != std::string::npos) log_dir.replace(at, 2, name);
    return log_dir;
}

std::string how_to_follow(Scheduler scheduler, const std::string& number, const Options& options) {
    const auto output = scheduler == Scheduler::slurm
                            ? fmt::format("{}-{}.out", name_of_job(options), number)
                            : fmt::format("{}.o{}", name_in_pbs(options), split(number, '.').front());
    return fmt::format(
        "job {0}\n"
        "  state   dtrain-launch status {0}\n"
        "  logs    dtrain-launch logs -f {0}   (they are in {1})\n"
        "  output  {2}\n"
        "  stop    dtrain-launch cancel {0}   (programs can write a checkpoint)\n"
        "  kill    dtrain-launch cancel --now {0}\n",
        number, log_dir_of_job(number, options), output);
}

}  // namespace dtrain::launch
