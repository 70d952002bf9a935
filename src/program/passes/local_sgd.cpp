// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "program/ir/exchanges.hpp"
#include "program/ir/operators.hpp"
#include "program/passes/parallel_program.hpp"

namespace dtrain {
namespace {

[[noreturn]] void refuse_averaging(const std::string& why, const std::string& op = "",
                                   const std::string& variable = "") {
    throw ProgramError("with_local_sgd: " + why, op, variable);
}

void check(const Program& program, const LocalSgd& options) {
    const auto& operators = program.operators();
    if (options.ranks < 1) refuse_averaging(fmt::format("{} ranks, expected at least 1", options.ranks));
    if (options.every < 1)
        refuse_averaging(
            fmt::format("parameters are averaged every {} steps, expected at least 1", options.every));
    if (std::ranges::any_of(operators, program::is_communication))
        refuse_averaging("the program is data parallel already", "allreduce_start");
    if (program.has(loss_scale_name))
        refuse_averaging(
            "the program scales its loss, and ranks that take steps alone leave out different ones",
            "unscale_gradients", loss_scale_name);
    for (const auto& op : operators)
        if (const auto why = program::traits_of(op.type).refuses_averages; !why.empty())
            refuse_averaging(
                fmt::format("{}: what was averaged is lost in the next step; choose another optimizer", why),
                op.type);
}

/// In the order of the program's variables.
std::vector<std::string> updated_parameters(const Program& program) {
    std::set<std::string, std::less<>> updated;
    for (const auto& exchange : program::exchanges_of(program)) updated.insert(exchange.parameter);
    std::vector<std::string> parameters;
    for (const auto& variable : program.variables()) {
        if (!updated.contains(variable.name)) continue;
        if (variable.type != DataType::float32)
            refuse_averaging(fmt::format("the parameter '{}' is {}, and ranks average float32", variable.name,
                                         to_string(variable.type)),
                             "", variable.name);
        parameters.push_back(variable.name);
    }
    if (parameters.empty())
        refuse_averaging("no operator updates parameters from gradients; call minimize() first");
    return parameters;
}

}  // namespace

Program with_local_sgd(const Program& program, const LocalSgd& options) {
    check(program, options);
    const auto parameters = updated_parameters(program);
    if (options.ranks == 1) return program;
    program::ParallelProgram result(
        program, {}, {.ranks = options.ranks, .batches = options.ranks, .averages_gradients = false});
    for (const auto& op : program.operators()) result.append(op);
    Operator average{program::average_operator,
                     {},
                     {},
                     {{"ranks", std::int64_t{options.ranks}}, {"every", options.every}}};
    for (const auto& parameter : parameters) average.inputs.push_back({"parameter", parameter});
    average.outputs = average.inputs;
    result.append(std::move(average));
    return std::move(result).take();
}

}  // namespace dtrain
