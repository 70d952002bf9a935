// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "kernels/loss_scale.hpp"
#include "program/ir/exchanges.hpp"

namespace dtrain {
namespace {

using program::Exchange;

[[noreturn]] void refuse_scaling(const std::string& why, const std::string& op = "",
                                 const std::string& variable = "") {
    throw ProgramError("with_loss_scaling: " + why, op, variable);
}

void expect_power_of_two(std::string_view name, double value, double min, double max) {
    int exponent = 0;
    if (!(value >= min && value <= max) || std::frexp(value, &exponent) != 0.5)
        refuse_scaling(fmt::format("{} is {}, expected a power of two from {} to {}", name, value, min, max));
}

void check(const LossScaling& options) {
    const double min = kernels::min_loss_scale;
    const double max = kernels::largest_loss_scale;
    expect_power_of_two("first", options.first, min, max);
    expect_power_of_two("growth", options.growth, 1, max);
    expect_power_of_two("backoff", options.backoff, min, 1);
    if (options.growth_steps < 1)
        refuse_scaling(fmt::format("growth_steps is {}, expected at least 1", options.growth_steps));
}

/// The gradients to be unscaled, in the order in which they are computed.
std::vector<Exchange> scaled_gradients(const Program& program) {
    const auto& operators = program.operators();
    if (program.has(loss_scale_name))
        refuse_scaling("the program scales its loss already", "", loss_scale_name);
    if (std::ranges::any_of(operators, program::is_communication))
        refuse_scaling("the program is data parallel already; scale the loss before");
    if (std::ranges::find(operators, "loss_gradient", &Operator::type) == operators.end())
        refuse_scaling("no operator makes the gradient of a loss; call minimize() first");
    auto exchanges = program::exchanges_of(program);
    if (exchanges.empty())
        refuse_scaling("no operator updates parameters from gradients; call minimize() first");
    for (const auto& [gradient, parameter, type, count, is_sparse, made, read] : exchanges) {
        if (is_sparse) refuse_scaling(fmt::format("the gradient '{}' is sparse", gradient), "", gradient);
        if (type != DataType::float32)
            refuse_scaling(
                fmt::format("the gradient '{}' is {}, expected float32", gradient, to_string(type)), "",
                gradient);
        if (read < exchanges.back().made)
            refuse_scaling(fmt::format("'{}' is read before the gradient '{}' is made", gradient,
                                       exchanges.back().gradient),
                           "", gradient);
    }
    return exchanges;
}

Operator unscale(const std::vector<Exchange>& gradients, const LossScaling& options) {
    Operator op{
        "unscale_gradients",
        {},
        {},
        {{"growth", options.growth}, {"backoff", options.backoff}, {"growth_steps", options.growth_steps}}};
    for (const auto& each : gradients) op.inputs.push_back({"gradient", each.gradient});
    op.inputs.push_back({"scale", loss_scale_name});
    op.inputs.push_back({"good_steps", loss_scale_steps_name});
    op.outputs = op.inputs;
    op.outputs.push_back({"skip", loss_scale_skip_name});
    return op;
}

bool writes_trained(const Program& program, const Operator& op) {
    return std::ranges::any_of(op.outputs, [&](const Argument& output) {
        return is_trained(program.variable(output.variable).role);
    });
}

}  // namespace

Program with_loss_scaling(const Program& program, const LossScaling& options) {
    check(options);
    const auto gradients = scaled_gradients(program);
    Program result;
    for (const auto& variable : program.variables()) result.add(variable);
    result.add({.name = loss_scale_name,
                .shape = {1},
                .role = Role::optimizer_state,
                .initializer = Initializer::constant(options.first)});
    result.add({.name = loss_scale_steps_name,
                .shape = {1},
                .type = DataType::int64,
                .role = Role::optimizer_state});
    result.add({.name = loss_scale_skip_name, .shape = {1}, .type = DataType::int64});
    const auto& operators = program.operators();
    for (std::size_t number = 0; number < operators.size(); ++number) {
        auto op = operators[number];
        const bool is_after = number > gradients.back().made;
        if (op.type == "loss_gradient") op.inputs.push_back({"scale", loss_scale_name});
        if (writes_trained(program, op)) {
            if (!is_after || (op.type != "increment" && !program::is_update(program, op)))
                refuse_scaling(
                    fmt::format("operator {} changes parameters or optimizer state and cannot be left out "
                                "of a step",
                                op.type),
                    op.type);
            op.inputs.push_back({"skip", loss_scale_skip_name});
        }
        result.append(std::move(op));
        if (number == gradients.back().made) result.append(unscale(gradients, options));
    }
    return result;
}

}  // namespace dtrain
