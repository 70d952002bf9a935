// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/training.hpp"

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/host.hpp"
#include "base/run_main.hpp"
#include "base/status_later.hpp"
#include "comm/leaving.hpp"
#include "worker/native/best_auc.hpp"
#include "worker/native/progress.hpp"
#include "worker/native/report.hpp"
#include "worker/native/server_checkpointer.hpp"
#include "worker/native/server_job.hpp"
#include "worker/native/step_agreement.hpp"
#include "worker/native/stop_request.hpp"
#include "worker/native/trainer.hpp"

namespace dtrain::native {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
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
    std::unique_ptr<const Task> task;     ///< none on parameter servers
    std::optional<double> best_auc = {};  ///< on the test data, if it is known
    int threads = 1;
    std::vector<std::filesystem::path> resume_from;  ///< the first that can be read; none: from the beginning
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

Job read_job_of(const Options& options) {
    auto job = read_job(options.job.value_or(built_in_job()));
    if (options.epochs) job.train.epochs = *options.epochs;
    if (options.checkpoint_dir) job.checkpoint.dir = options.checkpoint_dir;
    if (options.time_limit && !job.checkpoint.dir)
        throw UsageError(
            "--time-limit: this job keeps no checkpoints; --checkpoint-dir names a folder for them");
    return job;
}

/// Reads everything that can be wrong, without writing anything.
Input read_input(const Options& options, Job job, int rank, bool with_servers) {
    const auto threads = compute_threads(Environment::of_this_process());
    auto task = open_task(job, with_servers);
    const bool ranks_clicks = job.model.kind == ModelKind::click_through && job.test_data;
    const auto best_auc = ranks_clicks ? best_auc_of(job.test_data->file) : std::nullopt;
    std::vector<std::filesystem::path> resume_from;
    if (options.resume_from) resume_from = {*options.resume_from};
    if (options.resume && !options.resume_from) {
        if (!job.checkpoint.dir)
            throw UsageError("--resume: this job keeps no checkpoints; name a file, or --checkpoint-dir");
        // Only rank 0 reads it, so that the folder need not be seen from every node.
        if (rank == 0) {
            resume_from = CheckpointFolder(*job.checkpoint.dir).candidates();
            if (resume_from.empty() && !options.from_the_beginning_else)
                throw UsageError(
                    fmt::format("--resume: there is no checkpoint in {}", job.checkpoint.dir->string()));
            if (!options.from_the_beginning_else) resume_from.resize(1);
        }
    }
    return {std::move(job), std::move(task), best_auc, threads, std::move(resume_from)};
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

/// A job's epochs, with its checkpoints between and within them.
class Training {
  public:
    Training(const Job& job, const Options& options, Trainer& trainer, const Communicator& world,
             const Console& console)
        : job_(job),
          trainer_(trainer),
          console_(console),
          agreement_(world),
          progress_(console, !options.no_progress, start_),
          steps_at_start_(trainer.steps_done()) {
        if (!job.checkpoint.dir) return;
        stop_.emplace(options.time_limit ? std::optional(std::chrono::duration<double>(*options.time_limit))
                                         : std::nullopt);
        checkpoints_ = trainer.checkpoints(job.checkpoint);
    }

    /// True when all epochs are complete.
    bool run() {
        if (trainer_.epochs_done() >= job_.train.epochs) test_ = trainer_.test();
        while (trainer_.epochs_done() < job_.train.epochs)
            if (!run_epoch()) return false;
        if (checkpoints_) checkpoints_->finish();
        return true;
    }

    const std::optional<Metrics>& last_test() const { return test_; }
    std::optional<std::filesystem::path> last_checkpoint() const {
        return checkpoints_ ? checkpoints_->last() : std::nullopt;
    }

  private:
    bool run_epoch() {
        const auto epoch_start = Clock::now();
        const auto steps_before = trainer_.epoch_steps_done();
        const auto metrics = trainer_.train_epoch([&] {
            show_progress(epoch_start, steps_before);
            return !checkpoints_ || after_step();
        });
        if (!metrics) return false;
        EpochReport report;
        report.train = *metrics;
        report.timed_samples = metrics->samples - steps_before * trainer_.global_batch();
        report.train_seconds = seconds_since(epoch_start);
        report.epoch = trainer_.epochs_done();
        pass_day();
        report.test = test_ = trainer_.test();
        report.total_seconds = seconds_since(start_);
        console_.print(table_row(job_.model.kind, report) + left_out_line(report.train));
        if (checkpoints_ &&
            (report.epoch >= job_.train.epochs || is_due(job_.checkpoint.every, report.epoch) ||
             is_due(job_.checkpoint.every_steps, trainer_.steps_done())))
            checkpoints_->start(trainer_.header());
        return true;
    }

    void show_progress(Clock::time_point epoch_start, std::int64_t steps_before) {
        const auto now = Clock::now();
        if (!progress_.is_due(now)) return;
        const auto done = trainer_.epoch_steps_done();
        const auto all = job_.train.epochs * trainer_.steps_per_epoch();
        const auto in_epoch = std::chrono::duration<double>(now - epoch_start).count();
        progress_.show({.epoch = trainer_.epochs_done() + 1,
                        .epochs = job_.train.epochs,
                        .step = done,
                        .steps = trainer_.steps_per_epoch(),
                        .samples_per_second =
                            static_cast<double>((done - steps_before) * trainer_.global_batch()) / in_epoch,
                        .loss = trainer_.loss_so_far(),
                        .left = time_left(now - start_, trainer_.steps_done() - steps_at_start_,
                                          all - trainer_.epochs_done() * trainer_.steps_per_epoch() - done)},
                       now);
    }

    void pass_day() {
        if (!trainer_.has_servers() || !job_.servers) return;
        const bool shrinks = is_due(job_.servers->shrink_every, trainer_.epochs_done());
        if (shrinks || job_.servers->rows.statistics) trainer_.begin_day(shrinks);
    }

    static bool is_due(const std::optional<std::int64_t>& every, std::int64_t done) {
        return every && done % *every == 0;
    }

    bool after_step() {
        const auto why = stop_->reason();
        const auto waited_for = checkpoint_asked_for_;
        const auto agreed = agreement_.after_step(why.has_value(), checkpoints_->part_is_written());
        checkpoint_asked_for_ = checkpoints_->last();
        // What was said was about the checkpoint of a step ago.
        if (agreed.written && checkpoints_->waits_for_commit() && waited_for == checkpoints_->last())
            checkpoints_->commit();
        if (agreed.stop) {
            checkpoints_->start(trainer_.header());
            checkpoints_->finish();
            return false;
        }
        if (is_due(job_.checkpoint.every_steps, trainer_.steps_done()))
            checkpoints_->start(trainer_.header());
        return true;
    }

    const Job& job_;
    Trainer& trainer_;
    const Console& console_;
    StepAgreement agreement_;
    Clock::time_point start_ = Clock::now();
    std::optional<StopRequest> stop_;
    std::unique_ptr<CheckpointWriter> checkpoints_;
    std::optional<std::filesystem::path> checkpoint_asked_for_;
    std::optional<Metrics> test_;
    ProgressLine progress_;
    std::int64_t steps_at_start_;
};

/// What the console says after the last epoch, or when training was stopped in time.
int conclude(bool is_complete, const Training& training, const Trainer& trainer,
             const std::optional<double>& best_auc, int ranks, const Console& console) {
    if (!is_complete) {
        console.print(fmt::format(
            "\nnot finished  stopped in time after {} epochs and {} steps; go on with --resume\n"
            "checkpoint    {}\n",
            trainer.epochs_done(), trainer.epoch_steps_done(), training.last_checkpoint()->string()));
        return status_later;
    }
    console.print("\n");
    if (const auto& test = training.last_test()) console.print(result_line(*test, best_auc));
    console.print(fmt::format("parameters    checksum {:016x}, the same on {} rank{}\n", trainer.checksum(),
                              ranks, ranks == 1 ? "" : "s"));
    if (const auto saved = training.last_checkpoint())
        console.print(fmt::format("checkpoint    {}\n", saved->string()));
    return 0;
}

/// Trains with what was read; collective over the ranks that train.
/// @param resumed the checkpoint that it goes on from, if it does
int train_with(const Input& input, Trainer& trainer, const std::optional<std::filesystem::path>& resumed,
               const Options& options, const Communicator& trainers, const std::string& ranks_text,
               const Console& console) {
    const auto& job = input.job;
    if (job.checkpoint.dir)
        agreed(trainers, [&] { return trainers.rank() != 0 || check_writable(*job.checkpoint.dir); });

    console.print(header(job, options.job ? options.job->string() : "built-in job", trainer, ranks_text));
    if (resumed)
        console.print(fmt::format("resumed   {}: {} epochs, {} steps\n", resumed->string(),
                                  trainer.epochs_done(), trainer.steps_done()));
    console.print(fmt::format("\n{}", table_head(job.model.kind)));

    Training training(job, options, trainer, trainers, console);
    const bool is_complete = training.run();
    return conclude(is_complete, training, trainer, input.best_auc, trainers.size(), console);
}

std::string counted(int number, const char* what) {
    return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

void print_profile(const Trainer& trainer, const Communicator& trainers, const Console& console) {
    console.print(fmt::format("\n{}", profile_text(trainer.executor().profile(),
                                                   trainer.executor().memory_bytes(), trainers.describe())));
}

void check_servers_can_save(const CheckpointSettings& settings) {
    if (settings.format != CheckpointFormat::directory || settings.shards)
        throw UsageError(
            "[checkpoint] format = \"file\" and 'shards' are for jobs without parameter servers: "
            "each server writes files of its own into one directory");
}

void check_ranks_can_save(const CheckpointSettings& settings) {
    if (settings.full_every > 1)
        throw UsageError(fmt::format(
            "[checkpoint] full_every is {}, and this job has no parameter servers: their tables alone "
            "are saved by what changed; leave it out",
            settings.full_every));
}

/// What `train` returns. An error that all trainers throw together is told here, since the servers, which
/// know nothing of it, are to end with them.
template <class Train>
int status_of_trainers(const Train& train, int trainers, const Console& console) {
    try {
        return train();
    } catch (const std::exception& failed) {
        if (!comm::failure_is_agreed_by(trainers)) throw;
        console.complain(failed.what());
        return dynamic_cast<const UsageError*>(&failed) != nullptr ? status_usage : status_failed;
    }
}

/// A job in which some ranks are parameter servers.
int train_with_servers(const Options& options, Job job, int servers, const Communicator& world,
                       const Console& console) {
    const auto ranks = agreed(world, [&] { return ServerRanks(world, servers); });
    const auto settings = job.servers.value_or(ServerSettings{});
    const auto own = console.on(!ranks.serves() && ranks.number() == 0);
    auto input = agreed(world, [&] {
        check_servers_can_save(job.checkpoint);
        if (ranks.serves())
            return Input{
                .job = job, .task = nullptr, .threads = compute_threads(Environment::of_this_process())};
        return read_input(options, job, ranks.number(), true);
    });
    auto plan = agreed(world, [&] {
        return ranks.serves() ? TrainingPlan{}
                              : plan_training(job.train, std::move(input.task), ranks.peers(), true);
    });
    const auto* program = ranks.serves() ? nullptr : &plan.model.train;
    const auto transpiler =
        agreed(world, [&] { return transpile_together(ranks, world, settings, program); });
    const auto server_settings = server_options(job, input.threads);
    auto server = agreed(world, [&] {
        std::optional<ParameterServer> own_server;
        if (ranks.serves()) own_server.emplace(ranks, transpiler, server_settings);
        return own_server;
    });
    const auto resumed = resume_servers(ranks, world, input.resume_from, server ? &*server : nullptr,
                                        server ? std::map<std::string, std::string>() : job_fields(plan),
                                        [&](const std::string& damaged) { own.complain(damaged); });
    if (server) {
        const StopRequest trainers_stop_for_it({});
        server->run();
        return static_cast<int>(world.max(std::int64_t{0}));
    }
    Trainer trainer(transpiled(std::move(plan), transpiler), ranks.peers(),
                    {input.threads, options.profile, settings.reject_not_finite},
                    std::make_unique<ServerConnection>(ranks, transpiler, server_settings));
    const auto train_all = [&] {
        // In geo mode trainers have the optimizer's state of dense parameters.
        if (resumed && settings.mode == ServerMode::geo)
            trainer.resume({resumed->file / trainer_file},
                           [&](const std::string& why) { own.complain(why); });
        else if (resumed)
            trainer.go_on_from(resumed->header);
        return train_with(input, trainer, resumed ? std::optional(resumed->file) : std::nullopt, options,
                          ranks.peers(),
                          fmt::format("{} with {} ({})", counted(ranks.trainers(), "trainer"),
                                      counted(ranks.servers(), "parameter server"), to_string(settings.mode)),
                          own);
    };
    const auto status = status_of_trainers(train_all, ranks.trainers(), own);
    if (status == 0 && ranks.number() == 0) own.print(server_line(trainer.server_counts()));
    trainer.leave_servers();
    if (options.profile) print_profile(trainer, ranks.peers(), own);
    return static_cast<int>(world.max(std::int64_t{status}));
}

}  // namespace

int train(const Options& options, const Communicator& world, const std::string& command,
          const Console& console) {
    auto job = agreed(world, [&] { return read_job_of(options); });
    const auto servers = agreed(world, [&] {
        return count_servers(job.servers, Environment::of_this_process(), world, program_number());
    });
    if (servers > 0) return train_with_servers(options, std::move(job), servers, world, console);

    auto input = agreed(world, [&] {
        check_ranks_can_save(job.checkpoint);
        return read_input(options, std::move(job), world.rank(), false);
    });
    auto trainer = agreed(world, [&] {
        return Trainer(input.job.train, std::move(input.task), world, input.threads, options.profile);
    });
    const bool resumes = world.sum(std::int64_t{!input.resume_from.empty()}) > 0;
    std::optional<std::filesystem::path> resumed;
    if (resumes)
        resumed =
            trainer.resume(input.resume_from, [&](const std::string& damaged) { console.complain(damaged); });
    const auto status =
        train_with(input, trainer, resumed, options, world, counted(world.size(), "rank"), console);
    if (status != 0) return status;
    if (options.profile) print_profile(trainer, world, console);
    if (!options.job)
        console.print(fmt::format(
            "\n{}", next_steps(from_here(command), from_here(built_in_job()), 2 * input.job.train.epochs)));
    return 0;
}

}  // namespace dtrain::native
