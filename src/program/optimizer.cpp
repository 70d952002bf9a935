// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>

namespace dtrain {
namespace {

void check_setting(std::string_view name, double value, double least, double below) {
    if (!(value >= least && value < below))
        throw ProgramError(
            fmt::format("optimizer: {} is {}, expected {} <= {} < {}", name, value, least, name, below), "",
            "");
}

constexpr double no_limit = 1e30;

std::string add_state(Program& program, const std::string& parameter, std::string_view suffix) {
    const auto name = fmt::format("{}.{}", parameter, suffix);
    program.add({.name = name, .shape = program.variable(parameter).shape, .role = Role::optimizer_state});
    return name;
}

void append(Program& program, const Sgd& sgd, std::span<const ParameterGradient> gradients) {
    check_setting("learning_rate", sgd.learning_rate, 0, no_limit);
    for (const auto& [parameter, gradient] : gradients)
        program.append({"sgd",
                        {{"parameter", parameter}, {"gradient", gradient}},
                        {{"parameter", parameter}},
                        {{"learning_rate", sgd.learning_rate}}});
}

void append(Program& program, const Momentum& momentum, std::span<const ParameterGradient> gradients) {
    check_setting("learning_rate", momentum.learning_rate, 0, no_limit);
    check_setting("mu", momentum.mu, 0, 1);
    for (const auto& [parameter, gradient] : gradients) {
        const auto velocity = add_state(program, parameter, "velocity");
        program.append({"momentum",
                        {{"parameter", parameter}, {"gradient", gradient}, {"velocity", velocity}},
                        {{"parameter", parameter}, {"velocity", velocity}},
                        {{"learning_rate", momentum.learning_rate}, {"mu", momentum.mu}}});
    }
}

void append(Program& program, const Adam& adam, std::span<const ParameterGradient> gradients) {
    check_setting("learning_rate", adam.learning_rate, 0, no_limit);
    check_setting("beta1", adam.beta1, 0, 1);
    check_setting("beta2", adam.beta2, 0, 1);
    check_setting("epsilon", adam.epsilon, 0, no_limit);
    const std::string step = "adam.step";
    program.add({.name = step, .shape = {1}, .type = DataType::int64, .role = Role::optimizer_state});
    program.append({"increment", {{"step", step}}, {{"step", step}}, {}});
    for (const auto& [parameter, gradient] : gradients) {
        const auto moment1 = add_state(program, parameter, "moment1");
        const auto moment2 = add_state(program, parameter, "moment2");
        program.append({"adam",
                        {{"parameter", parameter},
                         {"gradient", gradient},
                         {"moment1", moment1},
                         {"moment2", moment2},
                         {"step", step}},
                        {{"parameter", parameter}, {"moment1", moment1}, {"moment2", moment2}},
                        {{"learning_rate", adam.learning_rate},
                         {"beta1", adam.beta1},
                         {"beta2", adam.beta2},
                         {"epsilon", adam.epsilon}}});
    }
}

}  // namespace

void append_optimizer(Program& program, const Optimizer& optimizer,
                      std::span<const ParameterGradient> gradients) {
    Program extended = program;  // the caller's stays whole when something does not fit
    std::visit([&](const auto& settings) { append(extended, settings, gradients); }, optimizer);
    program = std::move(extended);
}

std::vector<ParameterGradient> minimize(Program& program, const std::string& loss,
                                        const Optimizer& optimizer) {
    Program extended = program;
    auto gradients = append_backward(extended, loss);
    append_optimizer(extended, optimizer, gradients);
    program = std::move(extended);
    return gradients;
}

}  // namespace dtrain
