// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/run.hpp"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <mpi.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/cluster.hpp>
#include <dtrain/communicator.hpp>
#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/run_main.hpp"
#include "worker/native/job_file.hpp"
#include "worker/native/launch_check.hpp"
#include "worker/native/options.hpp"
#include "worker/native/report.hpp"
#include "worker/native/signal_line.hpp"
#include "worker/native/trainer.hpp"

namespace dtrain::native {
namespace {

#ifdef OPEN_MPI
constexpr bool is_open_mpi = true;
#else
constexpr bool is_open_mpi = false;
#endif

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// One rank of the job talks.
class Console {
  public:
    Console(std::string program, bool talks) : program_(std::move(program)), talks_(talks) {}

    void print(const std::string& text) const {
        if (!talks_) return;
        std::fwrite(text.data(), 1, text.size(), stdout);
        std::fflush(stdout);
    }
    void complain(const std::string& text) const {
        if (talks_) write_all(STDERR_FILENO, program_ + ": " + text + "\n");
    }

  private:
    std::string program_;
    bool talks_;
};

bool mpi_has_ended() {
    int ended = 0;
    MPI_Finalized(&ended);
    return ended != 0;
}

/// What `prepare` returns; when it throws a UsageError on any rank, all ranks throw the lowest one's.
/// Collective.
template <class Prepare>
auto agreed(const Communicator& world, const Prepare& prepare) {
    std::optional<decltype(prepare())> result;
    std::optional<std::string> error;
    try {
        result.emplace(prepare());
    } catch (const UsageError& refused) {
        error = refused.what();
    }
    const auto failed = world.sum(std::int64_t{error.has_value()});
    if (error && failed < world.size()) *error += fmt::format(" (rank {} on {})", world.rank(), host_name());
    throw_together(world, error);
    return std::move(*result);
}

struct Input {
    Job job;
    Dataset train;
    std::optional<Dataset> test;
    int threads = 1;
    std::filesystem::path resume_from;  ///< empty: from the beginning
};

/// A path as somebody would type it in the current folder.
std::string from_here(const std::filesystem::path& path) {
    if (path.is_relative()) return path.string();
    std::error_code failed;
    const auto relative = std::filesystem::proximate(path, failed);
    return failed || relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
}

std::filesystem::path built_in_job() {
    return (this_executable().parent_path() / "../../share/dtrain/examples/digits.toml").lexically_normal();
}

/// Reads everything that can be wrong, without writing anything.
Input read_input(const Options& options, int rank) {
    auto job = read_job(options.job.value_or(built_in_job()));
    if (options.epochs) job.train.epochs = *options.epochs;
    if (options.checkpoint_dir) job.checkpoint.dir = options.checkpoint_dir;
    const auto threads = compute_threads(Environment::of_this_process());
    auto train = Dataset::read(job.train_data);
    auto test = job.test_data ? std::optional(Dataset::read(*job.test_data)) : std::nullopt;
    std::filesystem::path resume_from = options.resume_from.value_or("");
    if (options.resume && !options.resume_from) {
        if (!job.checkpoint.dir)
            throw UsageError("--resume: this job keeps no checkpoints; name a file, or --checkpoint-dir");
        // Only rank 0 reads it, so that the folder need not be seen from every node.
        if (rank == 0) {
            const auto newest = CheckpointFolder(*job.checkpoint.dir).newest();
            if (!newest && !options.from_the_beginning_else)
                throw UsageError(
                    fmt::format("--resume: there is no checkpoint in {}", job.checkpoint.dir->string()));
            resume_from = newest.value_or("");
        }
    }
    return {std::move(job), std::move(train), std::move(test), threads, std::move(resume_from)};
}

/// Finds out before hours of training that nobody may write there. Rank 0 only.
bool check_writable(const std::filesystem::path& folder) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (!failed && ::access(folder.c_str(), W_OK | X_OK) != 0) failed.assign(errno, std::generic_category());
    if (failed)
        throw UsageError(
            fmt::format("cannot write checkpoints into {}: {}", folder.string(), failed.message()));
    return true;
}

void train(const Options& options, const Communicator& world, const std::string& command,
           const Console& console) {
    auto input = agreed(world, [&] { return read_input(options, world.rank()); });
    const auto& job = input.job;
    auto trainer = agreed(world, [&] {
        return Trainer(job, std::move(input.train), std::move(input.test), world, input.threads);
    });
    const bool resumes = world.sum(std::int64_t{!input.resume_from.empty()}) > 0;
    if (resumes) trainer.resume(input.resume_from);
    if (job.checkpoint.dir)
        agreed(world, [&] { return world.rank() != 0 || check_writable(*job.checkpoint.dir); });

    console.print(header(job, options.job ? options.job->string() : "built-in job", trainer, world.size()));
    if (resumes)
        console.print(fmt::format("resumed   {}: {} epochs, {} steps\n", input.resume_from.string(),
                                  trainer.epochs_done(), trainer.steps_done()));
    console.print(fmt::format("\n{}", table_head()));

    std::optional<Metrics> test;
    std::optional<std::filesystem::path> saved;
    if (trainer.epochs_done() >= job.train.epochs) test = trainer.test();
    const auto start = Clock::now();
    while (trainer.epochs_done() < job.train.epochs) {
        const auto epoch_start = Clock::now();
        EpochReport report;
        report.train = trainer.train_epoch();
        report.train_seconds = seconds_since(epoch_start);
        report.epoch = trainer.epochs_done();
        report.test = test = trainer.test();
        report.total_seconds = seconds_since(start);
        console.print(table_row(report));
        const bool last = trainer.epochs_done() >= job.train.epochs;
        if (job.checkpoint.dir && (last || trainer.epochs_done() % job.checkpoint.every == 0))
            saved = trainer.save(job.checkpoint);
    }

    console.print("\n");
    if (test) console.print(fmt::format("test accuracy {:.4f}\n", test->accuracy));
    console.print(fmt::format("parameters    checksum {:016x}, the same on {} rank{}\n", trainer.checksum(),
                              world.size(), world.size() == 1 ? "" : "s"));
    if (saved) console.print(fmt::format("checkpoint    {}\n", saved->string()));
    if (!options.job)
        console.print(fmt::format(
            "\n{}", next_steps(from_here(command), from_here(built_in_job()), 2 * job.train.epochs)));
}

}  // namespace

int run(const std::string& command, std::vector<std::string> arguments) {
    const auto program = std::filesystem::path(command).filename().string();
    const auto environment = Environment::of_this_process();
    // A supervised rank has a log of its own; somebody who reads it must not look for the cause of its end
    // there.
    if (environment.has("DTRAIN_RANK_CPUS")) announce_ending_signals();
    const auto announced = cluster::identify(environment);
    // Until MPI runs, the launcher's word is all there is; without one every process is rank 0.
    const Console before_mpi(program, announced.rank == 0);
    const auto refuse = [&](const std::string& why) {
        before_mpi.complain(why);
        // Launchers kill all ranks when one ends with an error; rank 0 must have spoken by then.
        if (announced.rank != 0) std::this_thread::sleep_for(std::chrono::seconds(1));
        return status_usage;
    };
    Options options;
    std::optional<std::string> wrong_options;
    try {
        options = parse_options(program, std::move(arguments));
    } catch (const UsageError& error) {
        wrong_options = error.what();
    }
    if (options.print_and_exit) {
        before_mpi.print(*options.print_and_exit);
        return 0;
    }
    if (const auto why = why_mpi_cannot_start(announced, environment, is_open_mpi)) return refuse(*why);
    if (must_hide_slurm_step(announced, environment, is_open_mpi))
        for (const char* name : {"SLURM_NODELIST", "SLURM_STEP_NODELIST", "SLURM_STEP_ID", "SLURM_STEPID"})
            ::unsetenv(name);

    bool is_said = false;
    try {
        const MpiSession session;
        const auto& world = session.world();
        if (const auto wrong = world_mismatch(announced, world.size(), MpiSession::library_version()))
            return refuse(*wrong);
        const Console console(program, world.rank() == 0);
        try {
            throw_together(world, wrong_options);
            train(options, world, command, console);
            return 0;
        } catch (const std::exception& error) {
            // Before the session ends: it ends on all ranks at once when they threw together.
            console.complain(error.what());
            is_said = world.rank() == 0;
            throw;
        }
    } catch (const std::exception& error) {
        if (mpi_has_ended())
            return dynamic_cast<const UsageError*>(&error) != nullptr ? status_usage : status_failed;
        // This rank's own failure, which the others know nothing of.
        if (!is_said)
            Console(program, true)
                .complain(fmt::format("{} (rank {} on {})", error.what(), announced.rank, host_name()));
        abort_job(status_failed);
    }
}

}  // namespace dtrain::native
