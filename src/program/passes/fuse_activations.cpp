// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include <dtrain/passes.hpp>

#include "program/ir/operators.hpp"

namespace dtrain {
namespace {

// The activation that is the only reader of an operator's result: its index, or none.
std::optional<std::size_t> only_activation(const Program& program, const Operator& op) {
    const auto& result = op.output("out");
    std::optional<std::size_t> reader;
    for (std::size_t number = 0; number < program.operators().size(); ++number) {
        const auto& other = program.operators()[number];
        if (std::ranges::find(other.inputs, result, &Argument::variable) == other.inputs.end()) continue;
        if (reader || !program::traits_of(other.type).activation) return std::nullopt;
        reader = number;
    }
    return reader;
}

}  // namespace

Program fuse_activations(const Program& program, const std::vector<std::string>& keep) {
    std::vector<Operator> operators = program.operators();
    std::vector<bool> dropped(operators.size(), false);
    std::vector<std::string> gone;
    for (auto& op : operators) {
        if (op.type != "fc" || !std::get<std::string>(op.attributes.at("activation")).empty()) continue;
        const auto reader = only_activation(program, op);
        if (!reader || std::ranges::find(keep, op.output("out")) != keep.end()) continue;
        const auto& activation = program.operators()[*reader];
        gone.push_back(op.output("out"));
        op.attributes["activation"] = activation.type;
        op.outputs = activation.outputs;
        dropped[*reader] = true;
    }
    Program result;
    for (const auto& variable : program.variables())
        if (std::ranges::find(gone, variable.name) == gone.end()) result.add(variable);
    for (std::size_t number = 0; number < operators.size(); ++number)
        if (!dropped[number]) result.append(std::move(operators[number]));
    return result;
}

}  // namespace dtrain
