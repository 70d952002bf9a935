// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/passes/joined_operators.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>

#include "kernels/functors/functions.hpp"

namespace dtrain::program {
namespace {

using TypeNames = std::vector<std::string_view>;

std::vector<TypeNames> all_joined_types() {
    std::vector<TypeNames> all{{"softmax_with_cross_entropy", "mean", "loss_gradient", "mean_grad",
                                "softmax_with_cross_entropy_grad", "fc_grad_weight"},
                               {"softmax_with_cross_entropy", "mean", "loss_gradient", "mean_grad",
                                "softmax_with_cross_entropy_grad"}};
    kernels::Activations::for_each([&]<class Function>(std::type_identity<Function>) {
        all.push_back({Function::gradient_type, "fc_grad_weight"});
    });
    return all;
}

/// Longer sequences first.
const std::vector<TypeNames>& joined_types() {
    static const auto all = all_joined_types();
    return all;
}

bool begins_with(std::span<const Operator> operators, const TypeNames& types) {
    return operators.size() >= types.size() &&
           std::ranges::equal(operators.first(types.size()), types, {}, &Operator::type);
}

bool uses(const std::vector<Argument>& arguments, const std::string& variable) {
    return std::ranges::find(arguments, variable, &Argument::variable) != arguments.end();
}

}  // namespace

std::vector<ElementChain> find_joined_operators(const Program& program, const ElementChains& chains,
                                                std::size_t barrier) {
    const auto& operators = program.operators();
    std::vector<ElementChain> found;
    for (std::size_t first = 0; first < operators.size(); ++first) {
        const auto is_free = [&](const TypeNames& types) {
            for (auto number = first; number < first + types.size(); ++number)
                if (chains.of(number) != nullptr || (number > first && number == barrier)) return false;
            return true;
        };
        const auto types = std::ranges::find_if(joined_types(), [&](const TypeNames& each) {
            return begins_with(std::span(operators).subspan(first), each) && is_free(each);
        });
        if (types == joined_types().end()) continue;
        found.push_back({first, types->size()});
        first += types->size() - 1;
    }
    return found;
}

bool can_count(const Program& program, std::size_t increment, std::size_t first_update, std::size_t updates) {
    const auto& operators = program.operators();
    const auto& counter = operators[increment];
    const auto& step = counter.output("step");
    for (auto number = increment + 1; number < operators.size(); ++number) {
        const auto& op = operators[number];
        const bool is_update = number >= first_update && number < first_update + updates;
        if (is_update && (op.input("step") != step || op.input("skip") != counter.input("skip")))
            return false;
        if (!is_update && (uses(op.inputs, step) || uses(op.outputs, step))) return false;
    }
    return updates > 0;
}

}  // namespace dtrain::program
