// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include <dtrain/callbacks.hpp>
#include <dtrain/model.hpp>

#include "metrics/slowest_rank.hpp"
#include "model/model_access.hpp"
#include "model/monitor.hpp"

namespace dtrain {
namespace {

constexpr std::string_view eval_mark = "eval_";

}  // namespace

std::optional<double> EpochRecord::measure(const std::string& name) const {
    const bool is_eval = name.starts_with(eval_mark);
    if (is_eval && !eval) return std::nullopt;
    const auto& metrics = is_eval ? *eval : train;
    const auto own = is_eval ? name.substr(eval_mark.size()) : name;
    if (own == "loss") return metrics.loss;
    const auto found = metrics.metrics.find(own);
    return found == metrics.metrics.end() ? std::nullopt : std::optional(found->second);
}

void Callback::on_begin(Model& /*model*/, const std::vector<std::string>& /*metric_names*/) {}

void Callback::on_epoch_begin(Model& /*model*/, const StepRecord& /*record*/) {}

void Callback::on_step_end(Model& /*model*/, const StepRecord& /*record*/) noexcept {}

void Callback::between_steps(Model& /*model*/) {}

void Callback::on_finish(Model& /*model*/) {}

void Callback::on_measured(Model& /*model*/, const EpochRecord& /*record*/) {}

void Callback::on_end(Model& /*model*/, const std::exception* /*failure*/) noexcept {}

Checkpoints::Checkpoints(std::filesystem::path folder, Options options)
    : folder_(std::move(folder)), options_(std::move(options)) {
    if (options_.keep < 1 || options_.every < 1)
        throw UsageError(fmt::format("Checkpoints: keep is {} and every is {}; both must be 1 or more",
                                     options_.keep, options_.every));
}

void Checkpoints::on_begin(Model& model, const std::vector<std::string>& /*metric_names*/) {
    if (detail::ModelAccess::has_servers(model))
        throw UsageError(fmt::format(
            "Checkpoints: the parameters for '{}' are on parameter servers; call save() between two "
            "calls of fit(), or in a callback's on_epoch_end()",
            folder_.string()));
    writer_.emplace(folder_, model.state(), model.communicator(),
                    CheckpointOptions{.keep = options_.keep,
                                      .format = options_.format,
                                      .async = options_.async,
                                      .shards = options_.shards,
                                      .collective = options_.collective,
                                      .hints = options_.hints});
}

bool Checkpoints::on_epoch_end(Model& model, const EpochRecord& record) {
    if (record.epoch % options_.every != 0) return true;
    const auto position = model.position();
    writer_->save(position, position.numbers);
    return true;
}

void Checkpoints::between_steps(Model& /*model*/) {
    writer_->progress();
}

void Checkpoints::on_finish(Model& /*model*/) {
    writer_->finish();
    writer_.reset();
}

void EpochLines::on_begin(Model& /*model*/, const std::vector<std::string>& metric_names) {
    metric_names_ = metric_names;
}

bool EpochLines::on_epoch_end(Model& model, const EpochRecord& record) {
    if (model.communicator().rank() != 0) return true;
    auto line = fmt::format("epoch {:3}", record.epoch);
    for (const auto& name : metric_names_)
        line += fmt::format("  {} {:.4f}", name, record.measure(name).value_or(0));
    if (const auto& slow = record.slowest; slow && slow->is_urgent)
        line += "\n         " + metrics::text_of(slow->rank, slow->host, slow->waited);
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
    return true;
}

EarlyStop::EarlyStop(Options options) : options_(std::move(options)) {
    if (options_.patience < 1 || !(options_.min_delta >= 0))
        throw UsageError(
            fmt::format("EarlyStop: patience is {} and min_delta {}; they must be 1 or more and 0 or more",
                        options_.patience, options_.min_delta));
}

void EarlyStop::on_begin(Model& /*model*/, const std::vector<std::string>& metric_names) {
    best_.reset();
    model::check_monitor("EarlyStop", options_.monitor, metric_names);
}

bool EarlyStop::on_epoch_end(Model& /*model*/, const EpochRecord& record) {
    const auto value = record.measure(options_.monitor).value();
    if (!best_ || model::gain(options_.monitor, best_->value, value) > options_.min_delta)
        best_ = Best{record.epoch, value};
    return record.epoch - best_->epoch < options_.patience;
}

}  // namespace dtrain
