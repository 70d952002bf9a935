// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/options.hpp"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "base/command_line.hpp"
#include "base/shell_args.hpp"
#include "base/text.hpp"

namespace dtrain::worker {
namespace {

constexpr const char* footer = R"(Ways to use it:
  mpirun -np 8 dtrain-worker                     train the built-in example on 8 ranks
  mpirun -np 8 dtrain-worker job.toml            train a job file (dtrain-worker job.toml --help: its options)
  srun dtrain-worker -- python3 train.py         run a program on every rank, pinned and supervised
  dtrain-worker --info                           this machine as dtrain sees it)";

constexpr std::uint64_t smallest_log = 4096;
constexpr std::uint64_t largest_log = std::uint64_t{1} << 50;

mode_t mode_of(const std::string& octal) {
    const auto mode = parse_int<unsigned>(octal, 8);
    if (!mode || *mode > 0777 || (*mode & 0600) != 0600)
        throw UsageError(fmt::format(
            "--log-mode {} is no mode of a log; write it like 0640, beginning with 06 or 07", octal));
    return *mode;
}

/// The options of dtrain-worker and the values that a command line gives them.
struct CommandLine {
    Options options;
    double grace_s = default_grace_seconds;
    std::optional<std::string> hang_limit;
    std::optional<std::string> show;
    std::optional<std::uint64_t> log_max_size;
    std::string bind = "auto", info, shell, log_mode = "0600", wrap, wrap_ranks = "all";
    bool manual = false, trust_log_dir = false;
    CLI::App app{
        "One rank of a job: pins itself, sets the variables, then supervises a program or trains a job file.",
        "dtrain-worker"};

    explicit CommandLine(const Environment& environment) {
        grace_s = environment.get_int("DTRAIN_GRACE").value_or(default_grace_seconds);
        options.log_dir = environment.get_or("DTRAIN_LOG_DIR", options.log_dir);
        set_usage(app, "[options] [job.toml [options of the job] | -- program [arguments]]");
        app.footer(footer);
        app.set_version_flag("--version", std::string("dtrain ") + version, "Print the version and exit");
        add_options_for_logs();
        add_options_for_programs();
        app.add_option("--start_port,--start-port", options.start_port, "First port of this node's ranks")
            ->check(CLI::Range(1, 65000))
            ->type_name("PORT");
        app.add_option("--bind", bind,
                       "auto: cores and memory near the rank's GPU; none: leave the mask alone")
            ->check(CLI::IsMember({"auto", "none"}))
            ->capture_default_str();
        app.add_option("--role", options.role, "Part of this rank in a parameter-server job")
            ->check(CLI::IsMember({"server", "worker", "heter_worker"}));
        app.add_flag("--info{text}", info, "Print this machine as dtrain sees it (--info=json: for programs)")
            ->check(CLI::IsMember({"text", "json"}));
        app.add_option("--print-completion", shell, "Print a completion script")
            ->check(CLI::IsMember({"bash", "zsh"}));
        app.add_flag("--print-man", manual, "Print the manual page");
    }
    CommandLine(const CommandLine&) = delete;

  private:
    void add_options_for_logs() {
        app.add_option("--log_dir,--log-dir", options.log_dir, "Folder of workerlog.<rank>")
            ->type_name("DIR")
            ->capture_default_str();
        app.add_option("--log-mode,--log_mode", log_mode, "Permissions of the logs")
            ->type_name("MODE")
            ->capture_default_str();
        app.add_flag("--log_overwrite,--log-overwrite", options.log.overwrite,
                     "Begin the log anew instead of appending to it");
        app.add_flag(
            "--trust-log-dir,--trust_log_dir", trust_log_dir,
            "Take --log_dir also when it belongs to another user, or everybody may change what is in "
            "it");
        app.add_option("--log-max-size,--log_max_size", log_max_size,
                       "Size at which a log becomes workerlog.<rank>.1 and begins again, such as 100M")
            ->type_name("SIZE")
            ->transform(CLI::AsSizeValue(false));
        app.add_option("--show", show,
                       "Ranks whose output is shown on the console: 0,2-3, all or none (default: 0)")
            ->type_name("RANKS");
    }

    void add_options_for_programs() {
        app.add_option(
               "--wrap", wrap,
               "Command to put before the program, such as \"perf record -o perf.%r\" (%r: rank, %h: host)")
            ->type_name("COMMAND");
        app.add_option("--wrap-ranks,--wrap_ranks", wrap_ranks, "Ranks that --wrap is for")
            ->type_name("RANKS")
            ->capture_default_str();
        app.add_option("--setup", options.setup,
                       "Shell commands before the program, such as 'module load cuda'")
            ->type_name("COMMANDS");
        app.add_option(
               "--hang-timeout,--hang_timeout", hang_limit,
               "Seconds without output and processor time after which a program counts as idle; 0: never; "
               "auto: learned from how long it usually is (default: auto under dtrain-launch, else 0)")
            ->type_name("SECONDS");
        app.add_flag("--dump-operations,--dump_operations", options.dumps_operations,
                     "Write the program's last operations into <log>.operations when it is idle");
        app.add_flag("--trace-mpi,--trace_mpi", options.trace_mpi,
                     "Record the program's calls of MPI, so that a report of a hang can name them");
        add_grace_option(app, grace_s, "Options");
    }
};

}  // namespace

ManualPage manual_page() {
    const CommandLine args{Environment{}};
    return {.programs = {"dtrain-worker"},
            .summary = "one rank of a distributed training job",
            .synopsis = {"[options] [job.toml] [options of the job]", "[options] -- program [arguments]",
                         "--info[=json]"},
            .description = args.app.get_description(),
            .sections = {{"Options", option_texts(args.app)}},
            .examples = footer,
            .see_also = {"dtrain-launch", "mpirun"}};
}

ParsedOptions parse_options(const std::vector<std::string>& arguments, const Environment& environment) {
    const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
    const std::vector<std::string> before(arguments.begin(), dashes);

    CommandLine args(environment);
    auto& app = args.app;
    ParsedOptions parsed;
    const auto own_end = before.begin() + static_cast<std::ptrdiff_t>(count_leading_options(app, before));
    parsed.text = parse_args(app, {before.begin(), own_end});
    if (parsed.text) return parsed;
    auto& options = parsed.options = std::move(args.options);
    options.grace = grace_of(args.grace_s);
    options.bind = args.bind == "auto";
    options.log.mode = mode_of(args.log_mode);
    if (args.trust_log_dir) options.log.folders = LogFolders::any;
    if (const auto size = args.log_max_size) {
        if (*size < smallest_log || *size > largest_log)
            throw UsageError(fmt::format("--log-max-size {} is no size of a log; give 4K to 1024T", *size));
        options.log.max_size = size;
    }
    if (args.show) options.show = cluster::RankList::parse(*args.show);
    options.wrap = shell_args(args.wrap);
    options.wrap_ranks = cluster::RankList::parse(args.wrap_ranks);
    if (args.hang_limit) {
        options.hang_limit = cluster::parse_hang_limit(*args.hang_limit);
        if (!options.hang_limit)
            throw UsageError(
                fmt::format("--hang-timeout {} is not {}", *args.hang_limit, cluster::hang_limit_choices()));
    }
    options.command.assign(own_end, before.end());
    if (!args.info.empty()) {
        options.task = Options::Task::info;
        options.command = {args.info == "json" ? "--info=json" : "--info"};
    } else if (args.manual) {
        options.task = Options::Task::info;
        options.command = {"--print-man"};
    } else if (!args.shell.empty()) {
        options.task = Options::Task::info;
        options.command = {"--print-completion=" + args.shell};
    } else if (dashes != arguments.end()) {
        if (!options.command.empty())
            throw UsageError(
                fmt::format("unknown option or argument \"{}\" before --; see dtrain-worker --help",
                            options.command.front()));
        options.task = Options::Task::supervise;
        options.command.assign(dashes + 1, arguments.end());
        if (options.command.empty())
            throw UsageError("no program after --; write dtrain-worker -- program args");
    } else if (!options.command.empty() && !options.command.front().starts_with("-") &&
               !options.command.front().ends_with(".toml")) {
        throw UsageError(
            fmt::format("\"{0}\" is no job file (.toml); to run a program write: dtrain-worker -- {0}",
                        options.command.front()));
    }
    return parsed;
}

}  // namespace dtrain::worker
