// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/training_run.hpp"

#include <chrono>
#include <memory>

#include <fmt/format.h>

#include <dtrain/environment.hpp>
#include <dtrain/error.hpp>

#include "base/files.hpp"
#include "base/status_retry_later.hpp"
#include "base/text.hpp"
#include "checkpoint/step_agreement.hpp"
#include "native/agreed.hpp"
#include "native/checkpoint_clock.hpp"
#include "native/progress.hpp"
#include "native/report.hpp"
#include "native/run_log.hpp"
#include "native/stop_request.hpp"

namespace dtrain::native {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Fails early if nobody may write into the folder, rather than after hours of training. Rank 0 only.
bool check_writable(const std::filesystem::path& folder) {
    if (const auto failed = make_writable_folder(folder))
        throw UsageError(
            fmt::format("cannot write checkpoints into {}: {}", folder.string(), failed.message()));
    return true;
}

std::optional<Clock::duration> in_ticks(const std::optional<Minutes>& minutes) {
    return minutes ? std::optional(std::chrono::duration_cast<Clock::duration>(*minutes)) : std::nullopt;
}

/// Runs a job's epochs, with checkpoints between and within them.
class Training {
  public:
    Training(const Job& job, const Options& options, Trainer& trainer, const Communicator& world,
             const Console& console, RunLog& log)
        : job_(job),
          trainer_(trainer),
          console_(console),
          log_(log),
          world_(world),
          agreement_(world),
          clock_(in_ticks(job.checkpoint.every_minutes), start_),
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
            log_.note_step();
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
        log_.note_epoch(report);
        if (checkpoints_ &&
            (report.epoch >= job_.train.epochs || is_due(job_.checkpoint.every, report.epoch) ||
             is_due(job_.checkpoint.every_steps, trainer_.steps_done()) || time_is_up()))
            start_checkpoint();
        return true;
    }

    void start_checkpoint() {
        checkpoints_->start(trainer_.header());
        clock_.note_checkpoint(Clock::now());
    }

    /// On any rank. Collective.
    bool time_is_up() const {
        return clock_.is_on() && world_.max(std::int64_t{clock_.is_due(Clock::now())}) != 0;
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
        const auto wishes =
            agreement_.after_step(*checkpoints_, {why.has_value(), clock_.is_due(Clock::now())});
        if (wishes.stop) {
            start_checkpoint();
            checkpoints_->finish();
            return false;
        }
        if (is_due(job_.checkpoint.every_steps, trainer_.steps_done()) || wishes.checkpoint)
            start_checkpoint();
        return true;
    }

    const Job& job_;
    Trainer& trainer_;
    const Console& console_;
    RunLog& log_;
    Communicator world_;
    checkpoint::StepAgreement agreement_;
    Clock::time_point start_ = Clock::now();
    CheckpointClock clock_;
    std::optional<StopRequest> stop_;
    std::unique_ptr<checkpoint::CheckpointWriter> checkpoints_;
    std::optional<Metrics> test_;
    ProgressLine progress_;
    std::int64_t steps_at_start_;
};

/// Prints the summary after the last epoch, or after training was stopped early.
int conclude(bool is_complete, const Training& training, const Trainer& trainer,
             const std::optional<double>& best_auc, int ranks, const Console& console) {
    if (!is_complete) {
        console.print(fmt::format(
            "\nnot finished  stopped in time after {} epochs and {} steps; go on with --resume\n"
            "checkpoint    {}\n",
            trainer.epochs_done(), trainer.epoch_steps_done(), training.last_checkpoint()->string()));
        return status_retry_later;
    }
    console.print("\n");
    if (const auto& test = training.last_test()) console.print(result_line(*test, best_auc));
    console.print(fmt::format("parameters    checksum {:016x}, the same on {}\n", trainer.checksum(),
                              counted(ranks, "rank")));
    if (const auto saved = training.last_checkpoint())
        console.print(fmt::format("checkpoint    {}\n", saved->string()));
    return 0;
}

}  // namespace

int train_with(const JobInput& input, Trainer& trainer, const std::optional<std::filesystem::path>& resumed,
               const Options& options, const Communicator& trainers, const JobRanks& ranks,
               const Console& console) {
    const auto& job = input.job;
    const auto outputs = agreed(
        trainers, [&] { return checked_outputs(job.log, Environment::of_this_process(), trainers.rank()); });
    if (job.checkpoint.dir)
        agreed(trainers, [&] { return trainers.rank() != 0 || check_writable(*job.checkpoint.dir); });

    console.print(header(job, options.job ? options.job->string() : "built-in job", trainer, ranks.text));
    if (resumed)
        console.print(fmt::format("resumed   {}: {} epochs, {} steps\n", resumed->string(),
                                  trainer.epochs_done(), trainer.steps_done()));
    else
        console.print(restart_message(job.checkpoint, input.starts));
    console.print(fmt::format("\n{}", table_head(job.model.kind)));

    RunLog log({.job = job, .outputs = outputs, .ranks = ranks, .resumed = resumed}, trainer, trainers,
               console);
    return log.watch([&] {
        Training training(job, options, trainer, trainers, console, log);
        const bool is_complete = training.run();
        if (const auto saved = training.last_checkpoint()) log.note("last checkpoint: " + saved->string());
        return conclude(is_complete, training, trainer, input.best_auc, trainers.size(), console);
    });
}

void print_profile(const Trainer& trainer, const Communicator& trainers, const Console& console) {
    console.print(fmt::format("\n{}", profile_text(trainer.executor().profile(),
                                                   trainer.executor().memory_bytes(), trainers.describe())));
}

}  // namespace dtrain::native
