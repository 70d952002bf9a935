// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/layers.hpp>

#include "program/layers/simple_layer.hpp"

namespace dtrain::layers {

Var sum(Program& program, const Vars& terms) {
    std::vector<Argument> inputs;
    for (const auto& term : terms) inputs.push_back({"x", term});
    return simple(program, "sum", std::move(inputs));
}

Var subtract(Program& program, const Var& x, const Var& y) {
    return simple(program, "subtract", {{"x", x}, {"y", y}});
}

Var multiply(Program& program, const Var& x, const Var& y) {
    return simple(program, "multiply", {{"x", x}, {"y", y}});
}

Var divide(Program& program, const Var& x, const Var& y) {
    return simple(program, "divide", {{"x", x}, {"y", y}});
}

Var scale(Program& program, const Var& x, double scale, double bias) {
    return simple(program, "scale", {{"x", x}}, {{"scale", scale}, {"bias", bias}});
}

Var reduce_sum(Program& program, const Var& x) {
    return simple(program, "reduce_sum", {{"x", x}});
}

}  // namespace dtrain::layers
