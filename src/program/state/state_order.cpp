// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/state/state_order.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace dtrain::program {
namespace {

using Indices = std::map<std::string, std::size_t, std::less<>>;

std::size_t number_of(Indices& indices, const std::string& name) {
    return indices.emplace(name, indices.size()).first->second;
}

}  // namespace

StateOrder state_order(const Program& program) {
    Indices declared;
    for (const auto& variable : program.variables()) number_of(declared, variable.name);
    Indices slots;
    struct UpdateOrder {
        std::size_t slot;
        std::size_t parameter;
    };
    std::map<std::string, UpdateOrder, std::less<>> of_updates;
    for (const auto& op : program.operators()) {
        const auto& parameter = op.output("parameter");
        if (parameter.empty()) continue;
        for (const auto& output : op.outputs)
            of_updates[output.variable] = {number_of(slots, output.slot), declared[parameter]};
    }
    StateOrder order;
    for (const auto& variable : program.variables())
        if (is_persistable(variable.role)) order.variables.push_back(&variable);
    const auto key = [&](const Variable* variable) {
        const auto found = of_updates.find(variable->name);
        const bool known = found != of_updates.end();
        return std::tuple(variable->role != Role::parameter, !known, known ? found->second.slot : 0,
                          known ? found->second.parameter : 0);
    };
    std::ranges::stable_sort(order.variables, {}, key);
    order.updated =
        static_cast<std::size_t>(std::ranges::count_if(order.variables, [&](const Variable* variable) {
            return variable->role == Role::parameter || of_updates.contains(variable->name);
        }));
    return order;
}

}  // namespace dtrain::program
