// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <dtrain/program.hpp>

#include "base/text.hpp"
#include "program/ir/operators.hpp"

namespace dtrain {

using program::find_schema;
using program::Schema;
using program::Slot;
using program::TensorType;

namespace {

const std::string& variable_in(const std::vector<Argument>& arguments, std::string_view slot) {
    static const std::string none;
    const auto at = std::ranges::find(arguments, slot, &Argument::slot);
    return at == arguments.end() ? none : at->variable;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
    const auto near = nearest(word, known);
    return near ? fmt::format("; did you mean '{}'?", *near) : std::string();
}

void check_slots(const Operator& op, const std::vector<Argument>& arguments, const std::vector<Slot>& slots,
                 std::string_view kind) {
    std::vector<std::string> names;
    for (const auto& slot : slots) {
        names.emplace_back(slot.name);
        const auto given = std::ranges::count(arguments, slot.name, &Argument::slot);
        if ((given < 1 && !slot.optional) || (given > 1 && !slot.many))
            throw ProgramError(fmt::format("operator {}: {} {} is given {} times, expected {}", op.type, kind,
                                           slot.name, given,
                                           slot.many       ? "at least once"
                                           : slot.optional ? "at most once"
                                                           : "once"),
                               op.type, variable_in(arguments, slot.name));
    }
    for (const auto& argument : arguments)
        if (std::ranges::find(names, argument.slot) == names.end())
            throw ProgramError(fmt::format("operator {}: there is no {} {}{}", op.type, kind, argument.slot,
                                           did_you_mean(argument.slot, names)),
                               op.type, argument.variable);
}

void complete_attributes(Operator& op, const Schema& schema) {
    std::vector<std::string> names;
    for (const auto& [name, value] : schema.attributes) {
        names.push_back(name);
        const auto [given, missing] = op.attributes.emplace(name, value);
        if (given->second.index() != value.index())
            throw ProgramError(fmt::format("operator {}: attribute {} is {}, expected something like {}",
                                           op.type, name, to_string(given->second), to_string(value)),
                               op.type, "");
    }
    for (const auto& [name, value] : op.attributes)
        if (!schema.attributes.contains(name))
            throw ProgramError(fmt::format("operator {}: there is no attribute {}{}", op.type, name,
                                           did_you_mean(name, names)),
                               op.type, "");
}

const Schema& schema_of(const Operator& op) {
    const auto* schema = find_schema(op.type);
    if (schema == nullptr)
        throw ProgramError(fmt::format("there is no operator '{}'{}", op.type,
                                       did_you_mean(op.type, program::operator_types())),
                           op.type, "");
    return *schema;
}

// Checks everything except the outputs' variables, adds default attributes and returns the outputs' types.
std::vector<TensorType> prepare(const Program& program, Operator& op) {
    const auto& schema = schema_of(op);
    check_slots(op, op.inputs, schema.inputs, "input");
    check_slots(op, op.outputs, schema.outputs, "output");
    complete_attributes(op, schema);
    for (const auto& argument : op.inputs) {
        try {
            program.variable(argument.variable);
        } catch (const ProgramError& error) {
            throw ProgramError(fmt::format("operator {}: input {}: {}", op.type, argument.slot, error.what()),
                               op.type, argument.variable);
        }
    }
    auto types = schema.infer({program, op});
    if (types.size() != op.outputs.size())
        throw ProgramError(fmt::format("operator {}: {} outputs are given, expected {}", op.type,
                                       op.outputs.size(), types.size()),
                           op.type, op.outputs.front().variable);
    return types;
}

std::string arguments_text(const std::vector<Argument>& arguments) {
    std::vector<std::string> slots;
    std::vector<std::string> texts;
    for (const auto& argument : arguments) {
        if (std::ranges::find(slots, argument.slot) != slots.end()) continue;
        slots.push_back(argument.slot);
        std::vector<std::string> names;
        for (const auto& other : arguments)
            if (other.slot == argument.slot) names.push_back(other.variable);
        texts.push_back(names.size() == 1 ? fmt::format("{}={}", argument.slot, names.front())
                                          : fmt::format("{}=[{}]", argument.slot, join(names, ", ")));
    }
    return join(texts, ", ");
}

std::string initializer_text(const Variable& variable) {
    if (!is_persistable(variable.role)) return "";
    if (variable.initializer.kind == Initializer::Kind::constant)
        return fmt::format(" = {:g}", variable.initializer.value);
    const auto& [kind, value, block_of, first_element] = variable.initializer;
    return fmt::format(" = uniform +-{:.6g}", value) +
           (block_of.empty() ? "" : fmt::format(" of {} from {}", block_of, first_element));
}

}  // namespace

std::string to_string(Role role) {
    switch (role) {
        case Role::data:
            return "data";
        case Role::parameter:
            return "parameter";
        case Role::temporary:
            return "temporary";
        case Role::gradient:
            return "gradient";
        case Role::optimizer_state:
            return "optimizer_state";
        case Role::metric:
            return "metric";
    }
    return "";
}

Initializer Initializer::xavier_uniform(std::int64_t fan_in, std::int64_t fan_out) {
    return {Kind::uniform, std::sqrt(6.0 / static_cast<double>(fan_in + fan_out))};
}

const std::string& Operator::input(std::string_view slot) const {
    return variable_in(inputs, slot);
}

const std::string& Operator::output(std::string_view slot) const {
    return variable_in(outputs, slot);
}

bool Program::has(std::string_view name) const {
    return std::ranges::find(variables_, name, &Variable::name) != variables_.end();
}

const Variable& Program::variable(std::string_view name) const {
    const auto at = std::ranges::find(variables_, name, &Variable::name);
    if (at != variables_.end()) return *at;
    std::vector<std::string> names;
    for (const auto& variable : variables_) names.push_back(variable.name);
    throw ProgramError(
        fmt::format("there is no variable '{}' in the program{}", name, did_you_mean(name, names)), "",
        std::string(name));
}

void Program::add(Variable variable) {
    if (variable.name.empty()) throw ProgramError("a variable needs a name", "", "");
    if (has(variable.name))
        throw ProgramError(fmt::format("there is a variable '{}' in the program already", variable.name), "",
                           variable.name);
    if (!is_tensor_type(variable.type))
        throw ProgramError(fmt::format("variable '{}' is {}, expected {}", variable.name,
                                       dtrain::to_string(variable.type), expected_of_tensors),
                           "", variable.name);
    if (std::ranges::any_of(variable.shape, [](std::int64_t extent) { return extent < 1; }))
        throw ProgramError(fmt::format("variable '{}' has shape {}, expected extents of at least 1",
                                       variable.name, dtrain::to_string(variable.shape)),
                           "", variable.name);
    constexpr auto max_elements = std::int64_t{1} << 48;
    if (element_count(variable.shape) > max_elements)
        throw ProgramError(fmt::format("variable '{}' has shape {}, expected at most 2^48 elements",
                                       variable.name, dtrain::to_string(variable.shape)),
                           "", variable.name);
    variables_.push_back(std::move(variable));
}

void Program::append(Operator op) {
    const auto types = prepare(*this, op);
    for (std::size_t i = 0; i < types.size(); ++i) {
        const auto& output = op.outputs[i];
        const auto& given = variable(output.variable);
        if (TensorType{given.shape, given.type} != types[i])
            throw ProgramError(
                fmt::format("operator {}: {} '{}' is {}, expected {}", op.type, output.slot, given.name,
                            program::to_string({given.shape, given.type}), program::to_string(types[i])),
                op.type, given.name);
    }
    operators_.push_back(std::move(op));
}

void Program::append_with_outputs(Operator op, Role role) {
    const auto types = prepare(*this, op);
    for (const auto& output : op.outputs)
        if (has(output.variable))
            throw ProgramError(fmt::format("operator {}: {} '{}' is in the program already", op.type,
                                           output.slot, output.variable),
                               op.type, output.variable);
    for (std::size_t i = 0; i < types.size(); ++i)
        add({.name = op.outputs[i].variable, .shape = types[i].shape, .type = types[i].type, .role = role});
    operators_.push_back(std::move(op));
}

std::string Program::unique_name(std::string_view stem) const {
    for (int number = 0;; ++number) {
        const auto name = fmt::format("{}_{}", stem, number);
        const bool taken = std::ranges::any_of(variables_, [&](const Variable& variable) {
            return variable.name == name || variable.name.starts_with(name + ".");
        });
        if (!taken) return name;
    }
}

std::string Program::to_string() const {
    std::string text = "program {\n";
    for (const auto& variable : variables_)
        text += fmt::format("  {} {} {} {}{}\n", dtrain::to_string(variable.role), variable.name,
                            dtrain::to_string(variable.type), dtrain::to_string(variable.shape),
                            initializer_text(variable));
    for (const auto& op : operators_) {
        text += fmt::format("  {}({}) -> {}", op.type, arguments_text(op.inputs), arguments_text(op.outputs));
        std::vector<std::string> attributes;
        for (const auto& [name, value] : op.attributes)
            attributes.push_back(name + "=" + dtrain::to_string(value));
        text += attributes.empty() ? "\n" : fmt::format(" {{{}}}\n", join(attributes, ", "));
    }
    return text += "}\n";
}

}  // namespace dtrain
