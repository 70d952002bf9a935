// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <dtrain/layers.hpp>

#include "program/ir/dropout_step.hpp"
#include "program/layers/simple_layer.hpp"

namespace dtrain::layers {

Var layer_norm(Program& program, const Var& x, const LayerNormOptions& options) {
    const auto input = program.variable(x);
    const auto type = input.type;
    const auto axis =
        std::clamp<std::int64_t>(options.axis, 0, static_cast<std::int64_t>(input.shape.size()));
    const auto size = element_count(Shape(input.shape.begin() + axis, input.shape.end()));
    const auto stem = options.name.empty() ? program.unique_name("layer_norm") : options.name;
    return extend(program, [&](Program& extended) {
        extended.add({.name = stem + ".scale",
                      .shape = {size},
                      .type = type,
                      .role = Role::parameter,
                      .initializer = Initializer::constant(1)});
        extended.add({.name = stem + ".bias", .shape = {size}, .type = type, .role = Role::parameter});
        extended.append_with_outputs({"layer_norm",
                                      {{"x", x}, {"scale", stem + ".scale"}, {"bias", stem + ".bias"}},
                                      {{"out", stem + ".out"},
                                       {"mean", stem + ".mean"},
                                       {"inverse_deviation", stem + ".inverse_deviation"}},
                                      {{"axis", options.axis}, {"epsilon", options.epsilon}}});
        return stem + ".out";
    });
}

Var dropout(Program& program, const Var& x, double probability, const DropoutOptions& options) {
    return extend(program, [&](Program& extended) {
        const std::string step(program::dropout_step);
        if (!extended.has(step))
            extended.add(
                {.name = step, .shape = {1}, .type = DataType::int64, .role = Role::optimizer_state});
        std::vector<Argument> inputs{{"x", x}, {"step", step}};
        if (!options.first_row.empty()) inputs.push_back({"first_row", options.first_row});
        const auto stream = std::ranges::count(extended.operators(), "dropout", &Operator::type);
        return simple(
            extended, "dropout", std::move(inputs),
            {{"probability", probability}, {"seed", options.seed}, {"stream", std::int64_t{stream}}});
    });
}

}  // namespace dtrain::layers
