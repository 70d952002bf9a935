// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/ir/exchanges.hpp"

#include <algorithm>
#include <map>

#include <dtrain/optimizer.hpp>

#include "program/ir/operators.hpp"

namespace dtrain::program {
namespace {

using Exchanges = std::map<std::string, Exchange, std::less<>>;

std::string updated_parameter(const Program& program, const Operator& op) {
    for (const auto& output : op.outputs)
        if (program.variable(output.variable).role == Role::parameter) return output.variable;
    return "";
}

/// An update may read a gradient after clipping or decay: ranks reduce the original gradient.
std::string gradient_behind(const Program& program, const Operator& update, const std::string& parameter) {
    if (program.has(gradient_name(parameter))) return gradient_name(parameter);
    for (const auto& input : update.inputs)
        if (program.variable(input.variable).role == Role::gradient) return input.variable;
    return "";
}

Exchanges read_by_updates(const Program& program) {
    Exchanges found;
    for (const auto& op : program.operators()) {
        const auto parameter = updated_parameter(program, op);
        if (parameter.empty()) continue;
        const auto gradient = gradient_behind(program, op, parameter);
        if (gradient.empty()) continue;
        const auto& variable = program.variable(gradient);
        found.try_emplace(gradient, Exchange{.gradient = gradient,
                                             .parameter = parameter,
                                             .type = variable.type,
                                             .count = static_cast<std::size_t>(element_count(variable.shape)),
                                             .is_sparse = program.has(gradient_rows_name(gradient))});
    }
    return found;
}

/// An operator that reads a gradient only modifies it.
bool reads(const Operator& op, const std::string& variable) {
    return std::ranges::find(op.inputs, variable, &Argument::variable) != op.inputs.end();
}

/// The sum of a sparse gradient over batches is a separate variable.
void note_where_batches_make(const std::vector<Operator>& operators, std::size_t sum, Exchanges& by_name) {
    const auto makes = [](const std::string& variable) {
        return [&variable](const Operator& op) {
            return std::ranges::find(op.outputs, variable, &Argument::variable) != op.outputs.end();
        };
    };
    for (std::size_t i = 0; i < operators[sum].outputs.size(); ++i) {
        const auto at = by_name.find(operators[sum].outputs[i].variable);
        if (at == by_name.end()) continue;
        const auto maker = std::ranges::find_if(operators, makes(operators[sum].inputs[i].variable));
        at->second.made = static_cast<std::size_t>(maker - operators.begin());
    }
}

}  // namespace

std::vector<Exchange> exchanges_of(const Program& program) {
    const auto& operators = program.operators();
    auto by_name = read_by_updates(program);
    for (std::size_t number = 0; number < operators.size(); ++number) {
        if (operators[number].type == "gather_rows") note_where_batches_make(operators, number, by_name);
        if (is_communication(operators[number])) continue;
        for (const auto& input : operators[number].inputs)
            if (const auto at = by_name.find(input.variable); at != by_name.end())
                at->second.read = std::min(at->second.read, number);
        for (const auto& output : operators[number].outputs)
            if (const auto at = by_name.find(output.variable);
                at != by_name.end() && !reads(operators[number], output.variable))
                at->second.made = number;
    }
    std::vector<Exchange> exchanges;
    for (auto& [name, exchange] : by_name)
        if (exchange.made != nowhere) exchanges.push_back(std::move(exchange));  // the others are fed
    // Gradients of the same operator keep the order of the operator's outputs.
    const auto output_index = [&](const Exchange& exchange) {
        const auto& outputs = operators[exchange.made].outputs;
        return std::ranges::find(outputs, exchange.gradient, &Argument::variable) - outputs.begin();
    };
    std::ranges::sort(exchanges, [&](const Exchange& a, const Exchange& b) {
        return a.made != b.made ? a.made < b.made : output_index(a) < output_index(b);
    });
    return exchanges;
}

std::size_t update_begin(const Program& program) {
    const auto exchanges = exchanges_of(program);
    return exchanges.empty() ? program.operators().size() : exchanges.back().made + 1;
}

bool is_update(const Program& program, const Operator& op) {
    return !op.input("gradient").empty() && !updated_parameter(program, op).empty();
}

void divide_loss_gradient(Operator& op, int parts) {
    if (op.type == "loss_gradient")
        op.attributes["value"] = std::get<double>(op.attributes.at("value")) / parts;
}

bool is_communication(const Operator& op) {
    return traits_of(op.type).communication;
}

bool exchanges_gradients(const Operator& op) {
    return traits_of(op.type).exchanges_gradients;
}

std::int64_t whole_number(const Operator& op, std::string_view attribute) {
    return std::get<std::int64_t>(op.attributes.find(attribute)->second);
}

}  // namespace dtrain::program
