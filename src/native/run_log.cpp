// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "native/run_log.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <dtrain/version.hpp>

#include "base/host.hpp"
#include "metrics/slowest_rank.hpp"
#include "model/gather_gpu_use.hpp"
#include "model/gather_locations.hpp"
#include "model/gather_times.hpp"
#include "native/report.hpp"

namespace dtrain::native {

metrics::Outputs checked_outputs(const LogSettings& settings, const Environment& environment, int rank) {
    if (rank != 0) return {};
    auto outputs = settings.outputs;
    metrics::check_outputs(outputs);
    if (const auto record = environment.get_or("DTRAIN_RUN_RECORD", ""); !record.empty())
        outputs.record = record;
    return outputs;
}

RunLog::RunLog(const Subject& subject, Trainer& trainer, const Communicator& trainers, const Console& console)
    : trainer_(trainer), trainers_(trainers), console_(console), first_rank_(subject.ranks.first) {
    is_wanted_ = trainers.max(std::int64_t{subject.outputs.any()}) != 0;
    if (is_wanted_ || trainers.size() > 1) trainer.watch_waits();
    if (!is_wanted_) return;
    gpus_.emplace(Environment::of_this_process().get("CUDA_VISIBLE_DEVICES"));
    every_steps_ =
        subject.job.log.every_steps.value_or(metrics::steps_between_rows(trainer.steps_per_epoch()));
    steps_ = trainer.steps_done();
    auto locations = model::gather_locations(trainers, first_rank_);
    if (trainers.rank() != 0) return;
    recorder_.emplace(subject.outputs, beginning(subject, std::move(locations)),
                      [console](const std::string& complaint) { console.complain(complaint); });
    if (subject.resumed) note("goes on from " + subject.resumed->string());
}

metrics::Run RunLog::beginning(const Subject& subject, std::vector<metrics::RankLocation> locations) const {
    metrics::Run run{
        .title = subject.job.title, .began = metrics::time_now(), .locations = std::move(locations)};
    run.info = {{"dtrain", version},
                {"model", trainer_.model().description},
                {"parameters", std::to_string(trainer_.model().parameters)},
                {"data", fmt::format("{}: {} samples to train on, {} to test on",
                                     subject.job.train_data.file.filename().string(),
                                     trainer_.task().train_samples(), trainer_.task().test_samples())},
                {"training", subject.ranks.text},
                {"global batch", batch_text(trainer_, subject.job.train)},
                {"steps an epoch", std::to_string(trainer_.steps_per_epoch())},
                {"epochs", std::to_string(subject.job.train.epochs)},
                {"optimizer", fmt::format("{}, learning rate {}", name_of(subject.job.train.optimizer),
                                          learning_rate_of(subject.job.train.optimizer))},
                {"seed", std::to_string(subject.job.train.seed)},
                {"exchange", trainers_.describe()}};
    if (const auto steps = subject.job.train.local_sgd; steps > 0)
        run.info.push_back({"local SGD", local_sgd_text(steps)});
    return run;
}

void RunLog::note(const std::string& event) {
    if (recorder_) recorder_->add(metrics::RunEvent{.seconds = seconds(), .text = event});
}

void RunLog::note_row_within() {
    const auto now = seconds();
    if (epoch_ != trainer_.epochs_done()) {
        epoch_ = trainer_.epochs_done();
        loss_sum_ = 0;
        samples_ = 0;
    }
    metrics::MetricRow row{.event = "step",
                           .time = metrics::time_now(),
                           .seconds = now,
                           .epoch = trainer_.epochs_done() + 1,
                           .step = trainer_.steps_done()};
    const auto samples = trainer_.samples_so_far() - samples_;
    if (samples > 0)
        row.values.push_back(
            {"loss", (trainer_.loss_sum_so_far() - loss_sum_) / static_cast<double>(samples)});
    row.values.push_back(
        {"samples_per_second",
         static_cast<double>((trainer_.steps_done() - steps_) * trainer_.global_batch()) / (now - at_)});
    loss_sum_ = trainer_.loss_sum_so_far();
    samples_ = trainer_.samples_so_far();
    steps_ = trainer_.steps_done();
    at_ = now;
    recorder_->add(std::move(row));
}

void RunLog::note_epoch(const EpochReport& epoch) {
    if (is_wanted_ || trainers_.size() > 1) note_slowest(epoch.epoch);
    if (!is_wanted_) return;
    const auto of_gpus = gather_gpu_use();
    if (recorder_) {
        metrics::MetricRow row{.event = "epoch",
                               .time = metrics::time_now(),
                               .seconds = seconds(),
                               .epoch = epoch.epoch,
                               .step = trainer_.steps_done()};
        const auto add = [&](const char* name, const std::optional<double>& value) {
            if (value) row.values.push_back({name, *value});
        };
        add("train_loss", epoch.train.loss);
        add("train_accuracy", epoch.train.accuracy);
        if (epoch.test) {
            add("test_loss", epoch.test->loss);
            add("test_accuracy", epoch.test->accuracy);
            add("test_auc", epoch.test->auc);
        }
        add("samples_per_second", static_cast<double>(epoch.timed_samples) / epoch.train_seconds);
        row.values.insert(row.values.end(), of_gpus.begin(), of_gpus.end());
        recorder_->add(std::move(row));
    }
    steps_ = trainer_.steps_done();
    at_ = seconds();
}

std::vector<metrics::RankTimes> RunLog::gather_times() {
    return model::gather_times(
        trainers_, trainer_.times(), seconds(),
        {.sees = trainer_.executor().sees_exchanges(), .compares = trainer_.watches_waits()}, first_rank_);
}

void RunLog::note_slowest(std::int64_t epoch) {
    auto times = gather_times();
    const auto slowest = metrics::slowest_of(metrics::times_since(times_, times));
    if (slowest && slowest->is_urgent) {
        const auto host = trainers_.broadcast(host_name(), slowest->rank - first_rank_);
        console_.print(fmt::format("        {}\n", metrics::text_of(slowest->rank, host, slowest->waited)));
    }
    if (recorder_) {
        if (slowest) recorder_->add(metrics::SlowEpoch{epoch, slowest->rank, slowest->waited});
        recorder_->set(times);
    }
    times_ = std::move(times);
}

std::vector<metrics::Measured> RunLog::gather_gpu_use() {
    auto gathered = model::gather_gpu_use(trainers_, *gpus_, first_rank_);
    if (recorder_) recorder_->set(std::move(gathered.ranks));
    return std::move(gathered.values);
}

void RunLog::finish(const std::string& outcome, const std::string& why) {
    if (!is_wanted_) return;
    if (outcome != "failed") {
        auto times = gather_times();
        if (recorder_) recorder_->set(std::move(times));
        gather_gpu_use();
    }
    if (!recorder_) return;
    if (outcome != "failed") return recorder_->finish(outcome, seconds());
    recorder_->add(metrics::RunEvent{.seconds = seconds(), .text = why, .is_bad = true});
    recorder_->finish(outcome, seconds(), metrics::Failure{.headline = why, .text = ""});
}

}  // namespace dtrain::native
