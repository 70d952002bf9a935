// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>

#include "program/ir/dropout_step.hpp"
#include "program/optim/adjust_gradients.hpp"
#include "program/optim/fed_rate.hpp"
#include "program/optim/settings_check.hpp"
#include "program/optim/update_attributes.hpp"

namespace dtrain {
namespace {

using program::UpdateGradient;

void check_setting(std::string_view name, double value, kernels::Limits limits) {
    program::check_setting("optimizer", name, value,
                           limits == kernels::Limits::positive ? program::above_zero : 0,
                           limits == kernels::Limits::fraction ? 1 : program::no_limit);
}

// Data shared by all updates of an optimizer.
struct Updates {
    Program& program;
    const std::vector<UpdateGradient>& gradients;
    std::string scheduled_rate;  // "" if the rate is an attribute
};

// Adds a state variable with the parameter's shape.
std::string add_state(Program& program, const std::string& parameter, std::string_view suffix,
                      double initial) {
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
                   const std::vector<Argument>& state, Attributes attributes, const std::string& step) {
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

template <class Rule>
void check_settings(const Program& program, const typename Rule::Settings& given) {
    check_setting("learning_rate", given.learning_rate, Rule::limits_of_rate);
    kernels::for_each_setting<Rule>([&](const auto& setting) {
        if (setting.number != nullptr) check_setting(setting.name, given.*setting.number, setting.limits);
    });
    if constexpr (requires { Rule::exceptions; })
        for (const auto& name : given.*Rule::exceptions) program.variable(name);
}

template <class Rule>
std::vector<Argument> add_states(Program& program, const std::string& parameter,
                                 const typename Rule::Settings& given) {
    std::vector<Argument> states;
    for (const auto slot : Rule::state)
        states.push_back(
            {std::string(slot), add_state(program, parameter, slot, kernels::initial_state<Rule>(given))});
    return states;
}

template <class Rule>
void append(const Updates& updates, const typename Rule::Settings& given) {
    check_settings<Rule>(updates.program, given);
    const auto step = Rule::counter.empty() ? "" : add_step(updates.program, std::string(Rule::counter));
    for (const auto& gradient : updates.gradients)
        kernels::with_rule(kernels::optimizer_for(given, gradient.parameter),
                           [&]<class Own>(std::type_identity<Own>, const auto& own) {
                               append_update(updates, std::string(Own::type), gradient,
                                             add_states<Own>(updates.program, gradient.parameter, own),
                                             program::update_attributes<Own>(own), step);
                           });
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
    kernels::with_rule(optimizer, [&]<class Rule>(std::type_identity<Rule>, const auto& given) {
        append<Rule>({extended, adjusted, rate}, given);
    });
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
