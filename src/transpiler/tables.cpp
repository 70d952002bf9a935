// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transpiler/tables.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "kernels/functors/optimizer_info.hpp"

namespace dtrain::transpiler {
namespace {

bool is_set(const Operator& op, std::string_view attribute) {
    const auto found = op.attributes.find(attribute);
    return found != op.attributes.end() && std::get<std::int64_t>(found->second) != 0;
}

double number(const Operator& op, std::string_view attribute) {
    return std::get<double>(op.attributes.find(attribute)->second);
}

/// The settings in an update operator.
Optimizer optimizer_of(const Operator& op, const Program& program) {
    Optimizer optimizer;
    kernels::UpdateRules::for_each([&]<class Rule>(std::type_identity<Rule>) {
        if (Rule::type != op.type) return;
        typename Rule::Settings settings;
        settings.learning_rate = number(op, "learning_rate");
        for (const auto& setting : Rule::settings) {
            if (setting.truth != nullptr)
                settings.*setting.truth = is_set(op, setting.name);
            else
                settings.*setting.number = number(op, setting.name);
        }
        if constexpr (requires { Rule::initial; })
            settings.*Rule::initial.number =
                program.variable(op.input(Rule::state.front())).initializer.value;
        optimizer = settings;
    });
    return optimizer;
}

DistributeTranspiler::Table table_of(const Program& program, const UpdatePart& part,
                                     const program::Exchange& exchange) {
    const auto& variable = program.variable(exchange.parameter);
    if (variable.type != DataType::float32)
        throw ProgramError(fmt::format("transpile: the table '{}' is {}; servers have float32 rows",
                                       variable.name, to_string(variable.type)),
                           "", variable.name);
    DistributeTranspiler::Table table{.parameter = variable.name,
                                      .rows = variable.shape[0],
                                      .width = variable.shape[1],
                                      .initializer = variable.initializer};
    for (const auto& step : part.steps()) {
        if (!step.leads_to_update || !step.parameters.contains(variable.name)) continue;
        const auto& op = program.operators()[step.number];
        if (op.type == "l1_decay")
            table.regularisation = L1Decay{number(op, "coefficient")};
        else if (op.type == "l2_decay")
            table.regularisation = L2Decay{number(op, "coefficient")};
        else if (program::is_update(program, op)) {
            table.optimizer = optimizer_of(op, program);
            table.learning_rate = op.input("learning_rate");
        } else {
            throw ProgramError(
                fmt::format("transpile: operator {} changes the gradient of the table '{}'; servers can only "
                            "let it decay",
                            op.type, variable.name),
                op.type, variable.name);
        }
    }
    for (const auto& op : program.operators())
        if (op.type == "embedding" && op.input("weight") == variable.name && is_set(op, "is_distributed"))
            table.any_id = true;
    return table;
}

}  // namespace

std::vector<DistributeTranspiler::Table> tables_of(const Program& program, const UpdatePart& part) {
    std::vector<DistributeTranspiler::Table> tables;
    for (const auto& exchange : part.exchanges())
        if (exchange.is_sparse) tables.push_back(table_of(program, part, exchange));
    return tables;
}

Names rates_of(const std::vector<DistributeTranspiler::Table>& tables) {
    Names rates;
    for (const auto& table : tables)
        if (!table.learning_rate.empty()) rates.insert(table.learning_rate);
    return rates;
}

TableOperators::TableOperators(const Program& program, const UpdatePart& part, std::string click)
    : program_(program), click_(std::move(click)) {
    if (!click_.empty()) program.variable(click_);
    const auto& operators = program.operators();
    for (const auto& exchange : part.exchanges()) {
        if (!exchange.is_sparse) continue;
        Names gradients{exchange.gradient};
        for (std::size_t i = 0; i < part.begin(); ++i) {
            const auto& op = operators[i];
            if (op.type != "merge_rows" || op.output("out") != exchange.gradient) continue;
            left_out_.insert(i);
            for (const auto& input : op.inputs)
                if (input.slot == "x") gradients.insert(input.variable);
        }
        for (std::size_t i = 0; i < part.begin(); ++i) {
            const auto& op = operators[i];
            const auto reads = [&](const Argument& input) { return input.variable == exchange.parameter; };
            if (op.type == "embedding" && op.input("weight") == exchange.parameter)
                lookups_[i] = exchange.parameter;
            else if (std::ranges::any_of(op.inputs, reads))
                throw ProgramError(
                    fmt::format(
                        "transpile: operator {} reads the table '{}', of which a trainer has only the "
                        "rows that embedding looks up",
                        op.type, exchange.parameter),
                    op.type, exchange.parameter);
            if (op.type == "embedding_grad_sparse" && gradients.contains(op.output("weight@grad")))
                pushes_[i] = exchange.parameter;
        }
        std::size_t last = 0;
        for (const auto& [i, table] : pushes_)
            if (table == exchange.parameter) last = i;
        last_pushes_.insert(last);
    }
}

Operator TableOperators::on_trainer(std::size_t number) const {
    const auto& op = program_.operators()[number];
    if (const auto lookup = lookups_.find(number); lookup != lookups_.end()) {
        const auto& shape = program_.variable(lookup->second).shape;
        return {"pull_rows",
                {{"ids", op.input("ids")}},
                {{"out", op.output("out")}},
                {{"table", lookup->second},
                 {"width", shape[1]},
                 {"rows", is_set(op, "is_distributed") ? std::int64_t{-1} : shape[0]},
                 {"padding", op.attributes.at("padding")},
                 {"fed", std::int64_t{program_.variable(op.input("ids")).role == Role::data}}}};
    }
    const auto push = pushes_.find(number);
    if (push == pushes_.end()) return op;
    std::vector<Argument> inputs{{"ids", op.input("ids")}, {"gradient", op.input("out@grad")}};
    if (!click_.empty()) inputs.push_back({"click", click_});
    return {"push_rows",
            std::move(inputs),
            {},
            {{"table", push->second},
             {"padding", op.attributes.at("padding")},
             {"last", std::int64_t{last_pushes_.contains(number)}}}};
}

}  // namespace dtrain::transpiler
