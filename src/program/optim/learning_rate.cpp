// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <dtrain/learning_rate.hpp>

#include "program/optim/settings_check.hpp"

namespace dtrain {
namespace {

void check(std::string_view name, double value, double min = 0) {
    program::check_setting("learning rate schedule", name, value, min, program::no_limit);
}

struct Formula {
    std::string type;
    Attributes attributes;
};

template <class Periodic>
Formula periodic(const std::string& type, const Periodic& decay) {
    check("learning_rate", decay.learning_rate);
    check("decay_steps", decay.decay_steps, program::above_zero);
    check("decay_rate", decay.decay_rate);
    return {type,
            {{"learning_rate", decay.learning_rate},
             {"decay_steps", decay.decay_steps},
             {"decay_rate", decay.decay_rate},
             {"staircase", std::int64_t{decay.staircase}}}};
}

Formula formula_of(const ConstantRate& constant) {
    check("learning_rate", constant.learning_rate);
    return {"constant_rate", {{"learning_rate", constant.learning_rate}}};
}

Formula formula_of(const ExponentialDecay& decay) {
    return periodic("exponential_decay", decay);
}

Formula formula_of(const NaturalExpDecay& decay) {
    return periodic("natural_exp_decay", decay);
}

Formula formula_of(const InverseTimeDecay& decay) {
    return periodic("inverse_time_decay", decay);
}

Formula formula_of(const PolynomialDecay& decay) {
    check("learning_rate", decay.learning_rate);
    check("decay_steps", decay.decay_steps, program::above_zero);
    check("end", decay.end);
    check("power", decay.power);
    return {"polynomial_decay",
            {{"learning_rate", decay.learning_rate},
             {"decay_steps", decay.decay_steps},
             {"end", decay.end},
             {"power", decay.power},
             {"cycle", std::int64_t{decay.cycle}}}};
}

Formula formula_of(const PiecewiseRate& piecewise) {
    for (const auto value : piecewise.values) check("value", value);
    if (!std::ranges::is_sorted(piecewise.boundaries, std::ranges::less_equal()))
        throw ProgramError(fmt::format("learning rate schedule: boundaries are {}, expected growing numbers",
                                       to_string(piecewise.boundaries)),
                           "piecewise_rate", "");
    return {"piecewise_rate", {{"boundaries", piecewise.boundaries}, {"values", piecewise.values}}};
}

Formula formula_of(const CosineDecay& decay) {
    check("learning_rate", decay.learning_rate);
    check("steps_per_epoch", static_cast<double>(decay.steps_per_epoch), 1);
    check("epochs", static_cast<double>(decay.epochs), 1);
    return {"cosine_decay",
            {{"learning_rate", decay.learning_rate},
             {"steps_per_epoch", decay.steps_per_epoch},
             {"epochs", decay.epochs}}};
}

Formula formula_of(const NoamDecay& decay) {
    check("learning_rate", decay.learning_rate);
    check("d_model", static_cast<double>(decay.d_model), 1);
    check("warmup_steps", static_cast<double>(decay.warmup_steps), 1);
    return {"noam_decay",
            {{"learning_rate", decay.learning_rate},
             {"d_model", decay.d_model},
             {"warmup_steps", decay.warmup_steps}}};
}

}  // namespace

std::string append_learning_rate(Program& program, const LearningRateSchedule& schedule) {
    const std::string step = "learning_rate.step";
    const std::string rate = "learning_rate";
    Program extended = program;
    extended.add({.name = step, .shape = {1}, .type = DataType::int64, .role = Role::optimizer_state});
    auto [type, attributes] = std::visit([](const auto& decay) { return formula_of(decay); }, schedule.decay);
    const auto decayed = schedule.warmup ? rate + ".decayed" : rate;
    extended.append_with_outputs({type, {{"step", step}}, {{"out", decayed}}, std::move(attributes)});
    if (schedule.warmup) {
        check("warmup steps", static_cast<double>(schedule.warmup->steps), 1);
        check("warmup start", schedule.warmup->start);
        check("warmup end", schedule.warmup->end);
        extended.append_with_outputs({"linear_warmup",
                                      {{"step", step}, {"rate", decayed}},
                                      {{"out", rate}},
                                      {{"steps", schedule.warmup->steps},
                                       {"start", schedule.warmup->start},
                                       {"end", schedule.warmup->end}}});
    }
    extended.append({"increment", {{"step", step}}, {{"step", step}}, {}});
    program = std::move(extended);
    return rate;
}

}  // namespace dtrain
