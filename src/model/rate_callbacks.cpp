// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <dtrain/callbacks.hpp>
#include <dtrain/model.hpp>

#include "model/monitor.hpp"
#include "model/together.hpp"

namespace dtrain {
namespace {

/// From the first step on, so that all steps use the rate in the same way.
void begin_to_set_rate(Model& model, const char* callback) {
    const auto rate = model.learning_rate();
    if (!rate)
        throw UsageError(
            fmt::format("{}: the program computes its learning rate itself, as prepare() was given "
                        "OptimizerOptions::schedule; leave that out, or this callback",
                        callback));
    model.set_learning_rate(*rate);
}

/// The state of ReduceOnPlateau between two epochs, in the form for Model::keep().
struct Plateau {
    double best = std::numeric_limits<double>::quiet_NaN();  ///< none yet
    double waited = 0;                                       ///< epochs since the best one
    double cooling = 0;                                      ///< remaining epochs that are not counted

    static std::string name(const std::string& monitor) { return "reduce_on_plateau." + monitor; }

    static Plateau of(const Model& model, const std::string& monitor) {
        const auto kept = model.kept(name(monitor));
        return kept && kept->size() == 3 ? Plateau{kept->at(0), kept->at(1), kept->at(2)} : Plateau();
    }
};

}  // namespace

RateFunction::RateFunction(Function function) : function_(std::move(function)) {
    if (!function_) throw UsageError("RateFunction: the function given is empty");
}

void RateFunction::on_begin(Model& model, const std::vector<std::string>& /*metric_names*/) {
    begin_to_set_rate(model, "RateFunction");
}

void RateFunction::on_epoch_begin(Model& model, const StepRecord& record) {
    rates_.assign(static_cast<std::size_t>(record.steps), 0);
    model::together(model.communicator(), [&] {
        if (model.communicator().rank() != 0) return;
        NextStep next{.epoch = record.epoch,
                      .steps = record.steps,
                      .done = model.steps_done(),
                      .rate = model.learning_rate().value()};
        for (auto& rate : rates_) {
            rate = function_(next);
            if (!std::isfinite(rate) || rate < 0)
                throw UsageError(
                    fmt::format("RateFunction: the function says {} for step {} of epoch {}; a learning rate "
                                "is a finite number of 0 or more",
                                rate, next.step + 1, next.epoch));
            next.rate = rate;
            ++next.step;
            ++next.done;
        }
    });
    model.communicator().broadcast(std::span<double>(rates_));
    model.set_learning_rate(rates_.front());
}

void RateFunction::on_step_end(Model& model, const StepRecord& record) noexcept {
    if (record.step < record.steps) model.set_learning_rate(rates_[static_cast<std::size_t>(record.step)]);
}

bool RateFunction::on_epoch_end(Model& /*model*/, const EpochRecord& /*record*/) {
    return true;
}

ReduceOnPlateau::ReduceOnPlateau(Options options) : options_(std::move(options)) {
    const auto& [monitor, factor, patience, min_delta, cooldown, min_rate] = options_;
    if (!(factor > 0 && factor < 1) || patience < 1 || !(min_delta >= 0) || cooldown < 0 || !(min_rate >= 0))
        throw UsageError(
            fmt::format("ReduceOnPlateau: factor is {}, patience {}, min_delta {}, cooldown {} and min_rate "
                        "{}; they must be between 0 and 1, 1 or more, and 0 or more",
                        factor, patience, min_delta, cooldown, min_rate));
}

void ReduceOnPlateau::on_begin(Model& model, const std::vector<std::string>& metric_names) {
    model::check_monitor("ReduceOnPlateau", options_.monitor, metric_names);
    begin_to_set_rate(model, "ReduceOnPlateau");
}

void ReduceOnPlateau::on_measured(Model& model, const EpochRecord& record) {
    auto plateau = Plateau::of(model, options_.monitor);
    const auto value = record.measure(options_.monitor).value();
    const bool counts = plateau.cooling == 0;
    if (!counts) --plateau.cooling;
    if (std::isnan(plateau.best) || model::gain(options_.monitor, plateau.best, value) > options_.min_delta) {
        plateau.best = value;
        plateau.waited = 0;
    } else if (counts && ++plateau.waited >= static_cast<double>(options_.patience)) {
        const auto rate = model.learning_rate().value();
        if (rate > options_.min_rate) {
            model.set_learning_rate(std::max(rate * options_.factor, options_.min_rate));
            plateau.cooling = static_cast<double>(options_.cooldown);
            plateau.waited = 0;
        }
    }
    model.keep(Plateau::name(options_.monitor), {plateau.best, plateau.waited, plateau.cooling});
}

bool ReduceOnPlateau::on_epoch_end(Model& /*model*/, const EpochRecord& /*record*/) {
    return true;
}

}  // namespace dtrain
