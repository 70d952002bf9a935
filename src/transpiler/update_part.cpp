// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transpiler/update_part.hpp"

#include <algorithm>

namespace dtrain::transpiler {

UpdatePart::UpdatePart(const Program& program)
    : exchanges_(program::exchanges_of(program)), begin_(program::update_begin(program)) {
    for (const auto& exchange : exchanges_) {
        parameters_of_[exchange.parameter] = {exchange.parameter};
        parameters_of_[exchange.gradient] = {exchange.parameter};
    }
    const auto& operators = program.operators();
    for (auto number = begin_; number < operators.size(); ++number) {
        Step step{.number = number, .parameters = {}, .leads_to_update = false};
        for (const auto* arguments : {&operators[number].inputs, &operators[number].outputs})
            for (const auto& argument : *arguments)
                step.parameters.merge(Names(parameters_of(argument.variable)));
        if (!step.parameters.empty())
            for (const auto& output : operators[number].outputs)
                parameters_of_[output.variable] = step.parameters;
        steps_.push_back(std::move(step));
    }
    Names wanted;
    for (const auto& variable : program.variables())
        if (is_trained(variable.role)) wanted.insert(variable.name);
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
        const auto& op = operators[step->number];
        step->leads_to_update = std::ranges::any_of(
            op.outputs, [&](const Argument& output) { return wanted.contains(output.variable); });
        if (!step->leads_to_update) continue;
        for (const auto& input : op.inputs) wanted.insert(input.variable);
    }
}

const Names& UpdatePart::parameters_of(const std::string& variable) const {
    static const Names none;
    const auto at = parameters_of_.find(variable);
    return at == parameters_of_.end() ? none : at->second;
}

}  // namespace dtrain::transpiler
