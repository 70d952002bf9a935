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

RunRecord::RunRecord(const report::Outputs& outputs, std::string title)
    : outputs_(new report::Outputs(outputs)), title_(std::move(title)) {}

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

bool RunRecord::on_epoch_end(Model& model, const EpochRecord& record) {
    const auto gpus = model::gather_gpu_use(model.communicator(), *gpus_);
    if (!recorder_) return true;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
    report::MetricRow row{.event = "epoch",
                          .time = report::time_now(),
                          .seconds = seconds.count(),
                          .epoch = record.epoch,
                          .step = model.steps_done()};
    for (const auto& name : measures_)
        if (const auto value = record.measure(name)) row.values.push_back({name_in_row(name), *value});
    row.values.push_back(
        {"samples_per_second", static_cast<double>(record.train.samples) / record.train_seconds});
    row.values.insert(row.values.end(), gpus.values.begin(), gpus.values.end());
    recorder_->set(gpus.ranks);
    recorder_->add(std::move(row));
    return true;
}

void RunRecord::on_end(Model& /*model*/, const std::exception* failure) noexcept {
    gpus_.reset();
    if (!recorder_) return;
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin_;
    if (failure == nullptr)
        recorder_->finish("done", seconds.count());
    else
        recorder_->finish("failed", seconds.count(),
                          report::Failure{.headline = failure->what(), .text = ""});
    recorder_.reset();
}

JsonLines::JsonLines(const std::filesystem::path& file)
    : RunRecord({.metrics = file, .tensorboard = {}, .page = {}, .record = {}}, "training") {}

TensorBoard::TensorBoard(const std::filesystem::path& folder)
    : RunRecord({.metrics = {}, .tensorboard = folder, .page = {}, .record = {}}, "training") {}

ReportPage::ReportPage(const std::filesystem::path& file, std::string title)
    : RunRecord({.metrics = {}, .tensorboard = {}, .page = file, .record = {}}, std::move(title)) {}

}  // namespace dtrain
