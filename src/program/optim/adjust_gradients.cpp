// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/optim/adjust_gradients.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "program/optim/settings_check.hpp"

namespace dtrain::program {
namespace {

// Appends an operator whose result replaces the gradient.
void replace(Program& program, UpdateGradient& gradient, std::string_view suffix, Operator op) {
    auto name = fmt::format("{}.{}", gradient_name(gradient.parameter), suffix);
    op.outputs = {{"out", name}};
    program.append_with_outputs(std::move(op), Role::gradient);
    gradient.gradient = std::move(name);
}

using Gradients = std::vector<UpdateGradient>;

void apply(Program& /*program*/, NoClipping /*clipping*/, Gradients& /*gradients*/) {}

void apply(Program& program, const ClipByValue& limits, Gradients& gradients) {
    check_setting("clipping", "min", limits.min, -no_limit, limits.max);
    check_setting("clipping", "max", limits.max, limits.min, no_limit);
    for (auto& gradient : gradients)
        replace(
            program, gradient, "clipped",
            {"clip_by_value", {{"x", gradient.gradient}}, {}, {{"min", limits.min}, {"max", limits.max}}});
}

void apply(Program& program, const ClipByNorm& limit, Gradients& gradients) {
    check_setting("clipping", "norm", limit.norm, above_zero, no_limit);
    for (auto& gradient : gradients)
        replace(program, gradient, "clipped",
                {"clip_by_norm", {{"x", gradient.gradient}}, {}, {{"norm", limit.norm}}});
}

void apply(Program& program, const ClipByGlobalNorm& limit, Gradients& gradients) {
    check_setting("clipping", "norm", limit.norm, above_zero, no_limit);
    const auto factor = program.unique_name("global_norm_factor");
    Operator measure{"global_norm_factor", {}, {{"out", factor}}, {{"norm", limit.norm}}};
    for (const auto& gradient : gradients) measure.inputs.push_back({"x", gradient.gradient});
    program.append_with_outputs(std::move(measure), Role::gradient);
    for (auto& gradient : gradients)
        replace(program, gradient, "clipped",
                {"scale_by", {{"x", gradient.gradient}, {"factor", factor}}, {}, {}});
}

void apply(Program& /*program*/, NoDecay /*decay*/, UpdateGradient& /*gradient*/) {}

void append_decay(Program& program, const std::string& type, double coefficient, UpdateGradient& gradient) {
    check_setting("regularisation", "coefficient", coefficient, 0, no_limit);
    Operator op{type,
                {{"gradient", gradient.gradient}, {"parameter", gradient.parameter}},
                {},
                {{"coefficient", coefficient}}};
    if (!gradient.rows.empty()) op.inputs.push_back({"rows", gradient.rows});
    replace(program, gradient, "regularised", std::move(op));
}

void apply(Program& program, const L1Decay& decay, UpdateGradient& gradient) {
    append_decay(program, "l1_decay", decay.coefficient, gradient);
}

void apply(Program& program, const L2Decay& decay, UpdateGradient& gradient) {
    append_decay(program, "l2_decay", decay.coefficient, gradient);
}

}  // namespace

void clip(Program& program, const Clipping& clipping, Gradients& gradients) {
    std::visit([&](const auto& limits) { apply(program, limits, gradients); }, clipping);
}

void regularise(Program& program, const OptimizerOptions& options, Gradients& gradients) {
    for (const auto& [parameter, decay] : options.regularisation_of)
        if (std::ranges::find(gradients, parameter, &UpdateGradient::parameter) == gradients.end())
            throw ProgramError(
                fmt::format("regularisation_of: '{}' is no parameter that is trained here", parameter), "",
                parameter);
    for (auto& gradient : gradients) {
        const auto own = options.regularisation_of.find(gradient.parameter);
        std::visit([&](const auto& decay) { apply(program, decay, gradient); },
                   own == options.regularisation_of.end() ? options.regularisation : own->second);
    }
}

}  // namespace dtrain::program
