// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/passes/parallel_program.hpp"

#include <algorithm>
#include <utility>

#include <dtrain/optimizer.hpp>

namespace dtrain::program {
namespace {

constexpr const char* batch_number = "dropout.batch";

std::string local_name(const std::string& variable, const std::string& gradient) {
    auto local = variable;
    return local.insert(gradient.size(), ".local");
}

// True for dropout whose user does not specify the position of its rows in the global batch.
bool needs_batch_number(const Operator& op) {
    return op.type == "dropout" && op.input("first_row").empty();
}

}  // namespace

ParallelProgram::ParallelProgram(const Program& program, const std::vector<Exchange>& sparse,
                                 const Averaged& averaged)
    : averaged_(averaged), sparse_(sparse) {
    for (const auto& exchange : sparse) {
        for (const auto& name : {exchange.gradient, gradient_rows_name(exchange.gradient)}) {
            auto local = program.variable(name);
            local.name = local_name(name, exchange.gradient);
            result_.add(std::move(local));
            resized_.insert(name);
        }
    }
    for (const auto& op : program.operators()) {
        const auto is_resized = [&](const Argument& argument) {
            return resized_.contains(argument.variable);
        };
        if (std::ranges::none_of(op.inputs, is_resized)) continue;
        for (const auto& output : op.outputs)
            if (program.variable(output.variable).role == Role::gradient) resized_.insert(output.variable);
    }
    for (const auto& variable : program.variables())
        if (!resized_.contains(variable.name)) result_.add(variable);
    if (averaged.batches > 1 && std::ranges::any_of(program.operators(), needs_batch_number))
        result_.append_with_outputs({"batch_number",
                                     {},
                                     {{"out", batch_number}},
                                     {{"ranks", std::int64_t{averaged.ranks}},
                                      {"micro_batches", std::int64_t{averaged.micro_batches}},
                                      {"batches", std::int64_t{averaged.batches}}}});
}

void ParallelProgram::append(Operator op) {
    if (averaged_.averages_gradients) divide_loss_gradient(op, averaged_.batches);
    if (needs_batch_number(op) && result_.has(batch_number)) op.inputs.push_back({"batch", batch_number});
    for (auto& output : op.outputs)
        for (const auto& exchange : sparse_)
            if (output.variable == exchange.gradient ||
                output.variable == gradient_rows_name(exchange.gradient))
                output.variable = local_name(output.variable, exchange.gradient);
    if (std::ranges::any_of(op.outputs,
                            [&](const Argument& output) { return resized_.contains(output.variable); }))
        result_.append_with_outputs(std::move(op), Role::gradient);
    else
        result_.append(std::move(op));
}

void ParallelProgram::append_row_sum(bool one_copy) {
    if (sparse_.empty()) return;
    Operator sum{"gather_rows",
                 {},
                 {},
                 {{"ranks", std::int64_t{averaged_.ranks}},
                  {"micro_batches", std::int64_t{averaged_.micro_batches}},
                  {"batches", std::int64_t{averaged_.batches}},
                  {"one_copy", std::int64_t{one_copy}}}};
    for (const auto& exchange : sparse_) {
        const auto rows = gradient_rows_name(exchange.gradient);
        sum.inputs.push_back({"rows", local_name(rows, exchange.gradient)});
        sum.inputs.push_back({"gradient", local_name(exchange.gradient, exchange.gradient)});
        sum.outputs.push_back({"rows", rows});
        sum.outputs.push_back({"gradient", exchange.gradient});
    }
    result_.append_with_outputs(std::move(sum), Role::gradient);
}

void ParallelProgram::append_sum(std::string type, const std::vector<Exchange>& dense,
                                 Attributes attributes) {
    if (dense.empty()) return;
    Operator sum{std::move(type), {}, {}, std::move(attributes)};
    for (const auto& exchange : dense) sum.inputs.push_back({"gradient", exchange.gradient});
    sum.outputs = sum.inputs;
    result_.append(std::move(sum));
}

}  // namespace dtrain::program
