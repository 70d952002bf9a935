// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <dtrain/callbacks.hpp>
#include <dtrain/environment.hpp>
#include <dtrain/model.hpp>

#include "base/files.hpp"
#include "model/gather_gpu_use.hpp"
#include "model/gather_places.hpp"
#include "report/recorder.hpp"

namespace dtrain {
namespace {

/// "train_loss" for "loss"; "eval_loss" stays.
std::string name_in_row(const std::string& measure) {
    return measure.starts_with("eval_") ? measure : "train_" + measure;
}

}  // namespace

RunRecord::RunRecord(const report::Outputs& outputs, std::string title, const RowOptions& rows)
    : outputs_(new report::Outputs(outputs)), title_(std::move(title)), rows_(rows) {
    if (rows.every_steps && *rows.every_steps < 1)
        throw UsageError(
            fmt::format("RowOptions: every_steps is {}; it must be 1 or more", *rows.every_steps));
}

RunRecord::~RunRecord() = default;

void RunRecord::on_begin(Model& model, const std::vector<std::string>& measures) {
    const auto& ranks = model.communicator();
    auto places = model::gather_places(ranks);
    gpus_ = std::make_unique<topology::GpuWatch>(Environment::of_this_process().get("CUDA_VISIBLE_DEVICES"));
    measures_ = measures;
    begin_ = std::chrono::steady_clock::now();
    if (ranks.rank() != 0) return;
    report::check_outputs(*outputs_);
    recorder_ = std::make_unique<report::Recorder>(
        *outputs_, report::Run{.title = title_, .began = report::time_now(), .places = std::move(places)},
        [](const std::string& complaint) { write_all(STDERR_FILENO, "dtrain: " + complaint + "\n"); });
}

double RunRecord::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

void RunRecord::on_epoch_begin(Model& /*model*/, const StepRecord& record) {
    every_steps_ = rows_.every_steps.value_or(report::steps_between_rows(record.steps));
    last_ = {.seconds = seconds()};
}

void RunRecord::on_step_end(Model& model, const StepRecord& record) noexcept {
    if (!recorder_ || record.step % every_steps_ != 0 || record.step == record.steps) return;
    const Position now{.step = record.step,
                       .loss_sum = record.loss * static_cast<double>(record.step),
                       .seconds = seconds()};
    const auto steps = static_cast<double>(now.step - last_.step);
    report::MetricRow row{.event = "step",
                          .time = report::time_now(),
                          .seconds = now.seconds,
                          .epoch = record.epoch,
                          .step = model.steps_done(),
                          .values = {{"loss", (now.loss_sum - last_.loss_sum) / steps},
                                     {"samples_per_second", steps * static_cast<double>(record.batch) /
                                                                (now.seconds - last_.seconds)}}};
    if (record.learning_rate) row.values.push_back({"learning_rate", *record.learning_rate});
    recorder_->add(std::move(row));
    last_ = now;
}

bool RunRecord::on_epoch_end(Model& model, const EpochRecord& record) {
    const auto gpus = model::gather_gpu_use(model.communicator(), *gpus_);
    if (!recorder_) return true;
    report::MetricRow row{.event = "epoch",
                          .time = report::time_now(),
                          .seconds = seconds(),
                          .epoch = record.epoch,
                          .step = model.steps_done()};
    for (const auto& name : measures_)
        if (const auto value = record.measure(name)) row.values.push_back({name_in_row(name), *value});
    row.values.push_back(
        {"samples_per_second", static_cast<double>(record.train.samples) / record.train_seconds});
    if (record.learning_rate) row.values.push_back({"learning_rate", *record.learning_rate});
    row.values.insert(row.values.end(), gpus.values.begin(), gpus.values.end());
    recorder_->set(gpus.ranks);
    recorder_->set(model.rank_times());
    if (const auto& slowest = record.slowest)
        recorder_->add(report::SlowEpoch{record.epoch, slowest->rank, slowest->waited});
    recorder_->add(std::move(row));
    return true;
}

void RunRecord::on_end(Model& /*model*/, const std::exception* failure) noexcept {
    gpus_.reset();
    if (!recorder_) return;
    if (failure == nullptr)
        recorder_->finish("done", seconds());
    else
        recorder_->finish("failed", seconds(), report::Failure{.headline = failure->what(), .text = ""});
    recorder_.reset();
}

JsonLines::JsonLines(const std::filesystem::path& file, const RowOptions& rows)
    : RunRecord({.metrics = file, .tensorboard = {}, .page = {}, .record = {}}, "training", rows) {}

TensorBoard::TensorBoard(const std::filesystem::path& folder, const RowOptions& rows)
    : RunRecord({.metrics = {}, .tensorboard = folder, .page = {}, .record = {}}, "training", rows) {}

ReportPage::ReportPage(const std::filesystem::path& file, std::string title, const RowOptions& rows)
    : RunRecord({.metrics = {}, .tensorboard = {}, .page = file, .record = {}}, std::move(title), rows) {}

}  // namespace dtrain
