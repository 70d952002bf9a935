// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>

#include "program/adjust_gradients.hpp"
#include "program/dropout_step.hpp"
#include "program/fed_rate.hpp"
#include "program/settings_check.hpp"

namespace dtrain {
namespace {

using program::no_limit;
using program::UpdateGradient;

void check_setting(std::string_view name, double value, double min, double below) {
    program::check_setting("optimizer", name, value, min, below);
}

// Data shared by all updates of an optimizer.
struct Updates {
    Program& program;
    const std::vector<UpdateGradient>& gradients;
    std::string scheduled_rate;  // "" if the rate is an attribute
};

// Adds a state variable with the parameter's shape.
std::string add_state(Program& program, const std::string& parameter, std::string_view suffix,
                      double initial = 0) {
    const auto& variable = program.variable(parameter);
    const auto name = fmt::format("{}.{}", parameter, suffix);
    program.add({.name = name,
                 .shape = variable.shape,
                 .type = variable.type,
                 .role = Role::optimizer_state,
                 .initializer = Initializer::constant(initial)});
    return name;
}

std::string add_step(Program& program, const std::string& name) {
    program.add({.name = name, .shape = {1}, .type = DataType::int64, .role = Role::optimizer_state});
    program.append({"increment", {{"step", name}}, {{"step", name}}, {}});
    return name;
}

// Appends an update that reads and writes the parameter and `state`, the slots with their variables.
void append_update(const Updates& updates, const std::string& type, const UpdateGradient& gradient,
                   const std::vector<Argument>& state, Attributes attributes, const std::string& step = "") {
    Operator op{type,
                {{"parameter", gradient.parameter}, {"gradient", gradient.gradient}},
                {{"parameter", gradient.parameter}},
                std::move(attributes)};
    op.inputs.insert(op.inputs.end(), state.begin(), state.end());
    op.outputs.insert(op.outputs.end(), state.begin(), state.end());
    if (!step.empty()) op.inputs.push_back({"step", step});
    if (!gradient.rows.empty()) op.inputs.push_back({"rows", gradient.rows});
    if (!updates.scheduled_rate.empty()) op.inputs.push_back({"learning_rate", updates.scheduled_rate});
    updates.program.append(std::move(op));
}

void append(const Updates& updates, const Sgd& sgd) {
    check_setting("learning_rate", sgd.learning_rate, 0, no_limit);
    for (const auto& gradient : updates.gradients)
        append_update(updates, "sgd", gradient, {}, {{"learning_rate", sgd.learning_rate}});
}

void append(const Updates& updates, const Momentum& momentum) {
    check_setting("learning_rate", momentum.learning_rate, 0, no_limit);
    check_setting("mu", momentum.mu, 0, 1);
    for (const auto& gradient : updates.gradients)
        append_update(updates, "momentum", gradient,
                      {{"velocity", add_state(updates.program, gradient.parameter, "velocity")}},
                      {{"learning_rate", momentum.learning_rate},
                       {"mu", momentum.mu},
                       {"nesterov", std::int64_t{momentum.nesterov}}});
}

void append(const Updates& updates, const Adagrad& adagrad) {
    check_setting("learning_rate", adagrad.learning_rate, 0, no_limit);
    check_setting("epsilon", adagrad.epsilon, 0, no_limit);
    check_setting("initial", adagrad.initial, 0, no_limit);
    for (const auto& gradient : updates.gradients)
        append_update(
            updates, "adagrad", gradient,
            {{"squares", add_state(updates.program, gradient.parameter, "squares", adagrad.initial)}},
            {{"learning_rate", adagrad.learning_rate}, {"epsilon", adagrad.epsilon}});
}

// For Adam and AdamW; `type_of` returns each parameter's operator type and its attributes.
template <class Settings, class TypeOf>
void append_adam(const Updates& updates, const Settings& adam, const TypeOf& type_of) {
    check_setting("learning_rate", adam.learning_rate, 0, no_limit);
    check_setting("beta1", adam.beta1, 0, 1);
    check_setting("beta2", adam.beta2, 0, 1);
    check_setting("epsilon", adam.epsilon, 0, no_limit);
    const auto step = add_step(updates.program, "adam.step");
    for (const auto& gradient : updates.gradients) {
        Attributes attributes{{"learning_rate", adam.learning_rate},
                              {"beta1", adam.beta1},
                              {"beta2", adam.beta2},
                              {"epsilon", adam.epsilon}};
        const auto type = type_of(gradient.parameter, attributes);
        const auto moment1 = add_state(updates.program, gradient.parameter, "moment1");
        const auto moment2 = add_state(updates.program, gradient.parameter, "moment2");
        append_update(updates, type, gradient, {{"moment1", moment1}, {"moment2", moment2}},
                      std::move(attributes), step);
    }
}

void append(const Updates& updates, const Adam& adam) {
    append_adam(updates, adam, [](const std::string&, Attributes&) { return "adam"; });
}

void append(const Updates& updates, const AdamW& adamw) {
    check_setting("weight_decay", adamw.weight_decay, 0, no_limit);
    for (const auto& name : adamw.without_decay) updates.program.variable(name);
    append_adam(updates, adamw, [&](const std::string& parameter, Attributes& attributes) {
        if (std::ranges::find(adamw.without_decay, parameter) != adamw.without_decay.end()) return "adam";
        attributes.emplace("weight_decay", adamw.weight_decay);
        return "adamw";
    });
}

void append(const Updates& updates, const Ftrl& ftrl) {
    check_setting("learning_rate", ftrl.learning_rate, program::above_zero, no_limit);
    check_setting("beta", ftrl.beta, program::above_zero, no_limit);
    check_setting("l1", ftrl.l1, 0, no_limit);
    check_setting("l2", ftrl.l2, 0, no_limit);
    for (const auto& gradient : updates.gradients) {
        const auto linear = add_state(updates.program, gradient.parameter, "linear");
        const auto squares = add_state(updates.program, gradient.parameter, "squares");
        append_update(
            updates, "ftrl", gradient, {{"linear", linear}, {"squares", squares}},
            {{"learning_rate", ftrl.learning_rate}, {"beta", ftrl.beta}, {"l1", ftrl.l1}, {"l2", ftrl.l2}});
    }
}

// `rate` names the variable with the learning rate; "": it is an attribute with the optimizer's own rate.
void append_updates(Program& extended, const Optimizer& optimizer,
                    std::span<const ParameterGradient> gradients, const OptimizerOptions& options,
                    const std::string& rate) {
    std::vector<UpdateGradient> adjusted;
    for (const auto& [parameter, gradient] : gradients) {
        const auto rows = gradient_rows_name(gradient);
        adjusted.push_back({parameter, gradient, extended.has(rows) ? rows : ""});
    }
    program::clip(extended, options.clipping, adjusted);
    program::regularise(extended, options, adjusted);
    if (const std::string step(program::dropout_step); extended.has(step))
        extended.append({"increment", {{"step", step}}, {{"step", step}}, {}});
    std::visit([&](const auto& settings) { append({extended, adjusted, rate}, settings); }, optimizer);
}

}  // namespace

void append_optimizer(Program& program, const Optimizer& optimizer,
                      std::span<const ParameterGradient> gradients, const OptimizerOptions& options) {
    Program extended = program;  // leaves the caller's program unchanged if an error is thrown
    const auto rate = options.schedule ? append_learning_rate(extended, *options.schedule) : "";
    append_updates(extended, optimizer, gradients, options, rate);
    program = std::move(extended);
}

void program::minimize_at_fed_rate(Program& program, const std::string& loss, const Optimizer& optimizer,
                                   const OptimizerOptions& options) {
    Program extended = program;
    const auto gradients = append_backward(extended, loss);
    extended.add({.name = fed_rate, .shape = {1}, .role = Role::data});
    append_updates(extended, optimizer, gradients, options, fed_rate);
    program = std::move(extended);
}

std::vector<ParameterGradient> minimize(Program& program, const std::string& loss, const Optimizer& optimizer,
                                        const OptimizerOptions& options) {
    Program extended = program;
    auto gradients = append_backward(extended, loss);
    append_optimizer(extended, optimizer, gradients, options);
    program = std::move(extended);
    return gradients;
}

}  // namespace dtrain
