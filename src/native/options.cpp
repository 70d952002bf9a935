// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/options.hpp"

#include <charconv>
#include <cmath>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/version.hpp>

#include "base/command_line.hpp"
#include "base/text.hpp"

namespace dtrain::native {
namespace {

constexpr const char* description =
    "Trains the model of a job file on all ranks of an MPI job, data parallel on CPUs or GPUs.\n"
    "Without a job file it trains the built-in one: a small network on 1797 images of handwritten digits.";

constexpr const char* examples =
    "Examples:\n"
    "  mpirun -np 2 {0}                        the built-in job on 2 ranks\n"
    "  srun --mpi=pmix -n 8 {0} my.toml        a job of your own under Slurm\n"
    "  mpirun -np 2 {0} my.toml --resume       go on from its newest checkpoint\n"
    "\n"
    "Exit status: 0 trained, 1 failed while training, 2 something in the command, the job file or the data "
    "is wrong,\n75 stopped in time with a checkpoint (--time-limit, SIGUSR1).";

std::optional<double> parse_number(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
        return std::nullopt;
    return value;
}

[[noreturn]] void refuse(const CLI::App& app, const std::string& unknown, const std::string& job) {
    if (!unknown.starts_with('-'))
        throw UsageError(fmt::format("one job file at a time: '{}' is left over after '{}'", unknown, job));
    const auto near = nearest_option(app, unknown);
    throw UsageError(fmt::format("unknown option {}; {}", unknown,
                                 near ? "did you mean " + *near + "?" : "--help shows all options"));
}

/// The options of a job and the values that a command line gives them.
struct CommandLine {
    CLI::App app;
    std::string job, resume_from, checkpoint_dir, time_limit, inspected, export_to, table, metrics,
        tensorboard, report;
    std::int64_t epochs = 0;
    bool profile = false, no_progress = false;
    CLI::Option* job_option = app.add_option("job", job, "Job file (TOML); none: the built-in job");
    CLI::Option* resume_option = app.add_option(
        "--resume", resume_from,
        "Go on from a checkpoint, or the newest whole one in a folder; without PATH of the "
        "job's; auto: from that if there is one. Started again by dtrain-launch, a job goes on "
        "from its own newest by itself");
    CLI::Option* epochs_option =
        app.add_option("--epochs", epochs, "Train until this many epochs are complete");
    CLI::Option* dir_option = app.add_option("--checkpoint-dir", checkpoint_dir, "Folder for checkpoints");
    CLI::Option* limit_option = app.add_option(
        "--time-limit", time_limit, "Stop after this time with a checkpoint, status 75; SIGUSR1 does too");
    CLI::Option* inspect_option = app.add_option(
        "--inspect", inspected,
        "Say what is inside a checkpoint, or which ones are in a folder and whether they are intact; "
        "train nothing");
    CLI::Option* export_option = app.add_option(
        "--export", export_to,
        "With --inspect: write the rows of its table of ids, for programs that serve the model");
    CLI::Option* table_option =
        app.add_option("--table", table, "With --export: which table, where there are several");
    CLI::Option* profile_option =
        app.add_flag("--profile", profile, "Print at the end what each operator of rank 0 has cost");
    CLI::Option* metrics_option =
        app.add_option("--metrics", metrics, "Add what is measured to this file, as lines of JSON");
    CLI::Option* tensorboard_option =
        app.add_option("--tensorboard", tensorboard, "Folder for what TensorBoard shows");
    CLI::Option* report_option =
        app.add_option("--report", report, "Write a page with curves, times of the ranks and what happened");
    CLI::Option* no_progress_option =
        app.add_flag("--no-progress", no_progress,
                     "Show no progress within an epoch (on a terminal in one line, else a line a minute)");

    explicit CommandLine(const std::string& program) : app(description, program) {
        app.footer(fmt::format(fmt::runtime(examples), program));
        app.set_version_flag("--version", fmt::format("{} {}", program, version));
        job_option->option_text("job.toml");
        resume_option->expected(0, 1)->option_text("[PATH|auto]");
        epochs_option->option_text("N");
        dir_option->option_text("DIR");
        limit_option->option_text("SECONDS");
        inspect_option->option_text("CHECKPOINT|FOLDER")->excludes(resume_option);
        export_option->option_text("FILE.csv|FILE.h5")->needs(inspect_option);
        table_option->option_text("NAME")->needs(export_option);
        metrics_option->option_text("FILE");
        tensorboard_option->option_text("DIR");
        report_option->option_text("FILE.html");
    }
    CommandLine(const CommandLine&) = delete;
};

}  // namespace

OptionSection job_option_section() {
    const CommandLine args("dtrain-worker");
    OptionSection section{.title = "Options of the job", .options = option_texts(args.app)};
    // dtrain-worker handles these itself.
    std::erase_if(section.options, [](const OptionText& option) {
        return option.names.back() == "--help" || option.names.back() == "--version";
    });
    return section;
}

std::string job_examples() {
    return CommandLine("dtrain-worker").app.get_footer();
}

Options parse_options(const std::string& program, std::vector<std::string> arguments) {
    CommandLine args(program);
    auto& app = args.app;
    app.allow_extras();
    Options options;
    options.print_and_exit = parse_args(app, std::move(arguments));
    if (options.print_and_exit) return options;
    if (const auto extras = app.remaining(); !extras.empty()) refuse(app, extras.front(), args.job);

    options.profile = args.profile;
    options.no_progress = args.no_progress;
    options.resume = args.resume_option->count() > 0;
    // In "--resume my.toml" the argument can only be the job file.
    auto& resume_from = args.resume_from;
    if (args.job_option->count() == 0 && resume_from.ends_with(".toml")) std::swap(args.job, resume_from);
    if (!args.job.empty()) options.job = args.job;
    options.fallback_to_start = resume_from == "auto";
    if (!resume_from.empty() && !options.fallback_to_start) options.resume_from = resume_from;
    if (args.epochs_option->count() > 0) {
        if (args.epochs < 1) throw UsageError(fmt::format("--epochs {}: it must be 1 or more", args.epochs));
        options.epochs = args.epochs;
    }
    if (args.dir_option->count() > 0) {
        if (args.checkpoint_dir.empty()) throw UsageError("--checkpoint-dir needs the name of a folder");
        options.checkpoint_dir = args.checkpoint_dir;
    }
    const auto path_of = [](const CLI::Option* option, const std::string& text, const char* name) {
        if (option->count() > 0 && text.empty()) throw UsageError(fmt::format("{} needs a name", name));
        return option->count() > 0 ? std::optional<std::filesystem::path>(text) : std::nullopt;
    };
    options.metrics = path_of(args.metrics_option, args.metrics, "--metrics");
    options.tensorboard = path_of(args.tensorboard_option, args.tensorboard, "--tensorboard");
    options.report = path_of(args.report_option, args.report, "--report");
    if (args.inspect_option->count() > 0) options.inspect = args.inspected;
    options.export_to = path_of(args.export_option, args.export_to, "--export");
    if (args.table_option->count() > 0) options.table = args.table;
    if (args.limit_option->count() > 0) {
        options.time_limit = parse_number(args.time_limit);
        if (!options.time_limit || !(*options.time_limit > 0))
            throw UsageError(
                fmt::format("--time-limit {}: it must be a number of seconds above 0", args.time_limit));
    }
    return options;
}

int compute_threads(const Environment& environment) {
    const auto text = environment.get_or("OMP_NUM_THREADS", "1");
    const auto threads = parse_int(trimmed(split(text, ',').front()));
    if (!threads || *threads < 1)
        throw UsageError(fmt::format("OMP_NUM_THREADS={}: it must be a number above 0", text));
    return *threads;
}

}  // namespace dtrain::native
