// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include <dtrain/callbacks.hpp>
#include <dtrain/environment.hpp>
#include <dtrain/model.hpp>

#include "base/files.hpp"
#include "metrics/recorder.hpp"
#include "model/gather_gpu_use.hpp"
#include "model/gather_locations.hpp"
#include "model/model_access.hpp"

namespace dtrain {
namespace {

/// "train_loss" for "loss"; "eval_loss" stays.
std::string name_in_row(const std::string& measure) {
    return measure.starts_with("eval_") ? measure : "train_" + measure;
}

}  // namespace

struct RunRecord::Content {
    /// State at the last row of an epoch.
    struct Position {
        std::int64_t step = 0;
        double loss_sum = 0;  ///< sum of the mean losses of steps
        double seconds = 0;   ///< since `begin`
    };

    Content(metrics::Outputs where, std::string headline, const RowOptions& row_options)
        : outputs(std::move(where)), title(std::move(headline)), rows(row_options) {
        if (rows.every_steps && *rows.every_steps < 1)
            throw UsageError(
                fmt::format("RowOptions: every_steps is {}; it must be 1 or more", *rows.every_steps));
    }

    double seconds() const {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }

    metrics::Outputs outputs;
    std::string title;
    RowOptions rows;
    std::int64_t every_steps = 1;
    Position last = {};
    std::vector<std::string> metric_names = {};
    std::unique_ptr<metrics::Recorder> recorder = {};
    std::unique_ptr<topology::GpuWatch> gpus = {};
    std::chrono::steady_clock::time_point begin = {};
};

RunRecord::RunRecord(std::unique_ptr<Content> content) : content_(std::move(content)) {}

RunRecord::~RunRecord() = default;

void RunRecord::on_begin(Model& model, const std::vector<std::string>& metric_names) {
    const auto& ranks = model.communicator();
    auto locations = model::gather_locations(ranks);
    content_->gpus =
        std::make_unique<topology::GpuWatch>(Environment::of_this_process().get("CUDA_VISIBLE_DEVICES"));
    content_->metric_names = metric_names;
    content_->begin = std::chrono::steady_clock::now();
    if (ranks.rank() != 0) return;
    metrics::check_outputs(content_->outputs);
    content_->recorder = std::make_unique<metrics::Recorder>(
        content_->outputs,
        metrics::Run{
            .title = content_->title, .began = metrics::time_now(), .locations = std::move(locations)},
        [](const std::string& complaint) { write_all(STDERR_FILENO, "dtrain: " + complaint + "\n"); });
}

void RunRecord::on_epoch_begin(Model& /*model*/, const StepRecord& record) {
    content_->every_steps = content_->rows.every_steps.value_or(metrics::steps_between_rows(record.steps));
    content_->last = {.seconds = content_->seconds()};
}

void RunRecord::on_step_end(Model& model, const StepRecord& record) noexcept {
    if (!content_->recorder || record.step % content_->every_steps != 0 || record.step == record.steps)
        return;
    const Content::Position now{.step = record.step,
                                .loss_sum = record.loss * static_cast<double>(record.step),
                                .seconds = content_->seconds()};
    const auto steps = static_cast<double>(now.step - content_->last.step);
    metrics::MetricRow row{.event = "step",
                           .time = metrics::time_now(),
                           .seconds = now.seconds,
                           .epoch = record.epoch,
                           .step = model.steps_done(),
                           .values = {{"loss", (now.loss_sum - content_->last.loss_sum) / steps},
                                      {"samples_per_second", steps * static_cast<double>(record.batch) /
                                                                 (now.seconds - content_->last.seconds)}}};
    if (record.learning_rate) row.values.push_back({"learning_rate", *record.learning_rate});
    content_->recorder->add(std::move(row));
    content_->last = now;
}

bool RunRecord::on_epoch_end(Model& model, const EpochRecord& record) {
    const auto gpus = model::gather_gpu_use(model.communicator(), *content_->gpus);
    if (!content_->recorder) return true;
    metrics::MetricRow row{.event = "epoch",
                           .time = metrics::time_now(),
                           .seconds = content_->seconds(),
                           .epoch = record.epoch,
                           .step = model.steps_done()};
    for (const auto& name : content_->metric_names)
        if (const auto value = record.measure(name)) row.values.push_back({name_in_row(name), *value});
    row.values.push_back(
        {"samples_per_second", static_cast<double>(record.train.samples) / record.train_seconds});
    if (record.learning_rate) row.values.push_back({"learning_rate", *record.learning_rate});
    row.values.insert(row.values.end(), gpus.values.begin(), gpus.values.end());
    content_->recorder->set(gpus.ranks);
    content_->recorder->set(detail::ModelAccess::rank_times(model));
    if (const auto& slowest = record.slowest)
        content_->recorder->add(metrics::SlowEpoch{record.epoch, slowest->rank, slowest->waited});
    content_->recorder->add(std::move(row));
    return true;
}

void RunRecord::on_end(Model& /*model*/, const std::exception* failure) noexcept {
    content_->gpus.reset();
    if (!content_->recorder) return;
    if (failure == nullptr)
        content_->recorder->finish("done", content_->seconds());
    else
        content_->recorder->finish("failed", content_->seconds(),
                                   metrics::Failure{.headline = failure->what(), .text = ""});
    content_->recorder.reset();
}

JsonLines::JsonLines(const std::filesystem::path& file, const RowOptions& rows)
    : RunRecord(std::make_unique<Content>(
          metrics::Outputs{.metrics = file, .tensorboard = {}, .page = {}, .record = {}}, "training", rows)) {
}

TensorBoard::TensorBoard(const std::filesystem::path& folder, const RowOptions& rows)
    : RunRecord(std::make_unique<Content>(
          metrics::Outputs{.metrics = {}, .tensorboard = folder, .page = {}, .record = {}}, "training",
          rows)) {}

ReportPage::ReportPage(const std::filesystem::path& file, std::string title, const RowOptions& rows)
    : RunRecord(std::make_unique<Content>(
          metrics::Outputs{.metrics = {}, .tensorboard = {}, .page = file, .record = {}}, std::move(title),
          rows)) {}

}  // namespace dtrain
