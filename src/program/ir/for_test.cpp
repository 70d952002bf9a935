// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <dtrain/passes.hpp>

namespace dtrain {
namespace {

// In tests nothing is dropped, and servers create no rows.
Operator as_tested(Operator op) {
    if (op.type == "pull_rows") op.attributes["is_test"] = std::int64_t{1};
    if (op.type != "dropout") return op;
    std::erase_if(op.inputs, [](const Argument& input) { return input.slot != "x"; });
    op.attributes["is_test"] = std::int64_t{1};
    return op;
}

}  // namespace

Program for_test(const Program& program, const std::vector<std::string>& fetches) {
    if (fetches.empty()) throw ProgramError("for_test: no variable is to be fetched", "", "");
    std::set<std::string, std::less<>> needed;
    for (const auto& fetch : fetches) {
        const auto& variable = program.variable(fetch);
        if (variable.role == Role::gradient)
            throw ProgramError(
                fmt::format("for_test: '{}' is a gradient; only training makes gradients", fetch), "", fetch);
        needed.insert(fetch);
    }
    const auto is_needed = [&](const Argument& output) { return needed.contains(output.variable); };
    const auto trains = [&](const Argument& output) {
        return is_trained(program.variable(output.variable).role);
    };

    std::vector<Operator> kept;
    for (auto op = program.operators().rbegin(); op != program.operators().rend(); ++op) {
        if (std::ranges::none_of(op->outputs, is_needed) || std::ranges::any_of(op->outputs, trains))
            continue;
        kept.push_back(as_tested(*op));
        for (const auto& argument : kept.back().inputs) needed.insert(argument.variable);
        for (const auto& argument : kept.back().outputs) needed.insert(argument.variable);
    }
    Program result;
    for (const auto& variable : program.variables())
        if (needed.contains(variable.name)) result.add(variable);
    for (auto op = kept.rbegin(); op != kept.rend(); ++op) result.append(*op);
    return result;
}

}  // namespace dtrain
