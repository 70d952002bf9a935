// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <dtrain/layers.hpp>

#include "program/simple_layer.hpp"

namespace dtrain::layers {

std::string sum(Program& program, const std::vector<std::string>& terms) {
    std::vector<Argument> inputs;
    for (const auto& term : terms) inputs.push_back({"x", term});
    return simple(program, "sum", std::move(inputs));
}

std::string subtract(Program& program, const std::string& x, const std::string& y) {
    return simple(program, "subtract", {{"x", x}, {"y", y}});
}

std::string multiply(Program& program, const std::string& x, const std::string& y) {
    return simple(program, "multiply", {{"x", x}, {"y", y}});
}

std::string divide(Program& program, const std::string& x, const std::string& y) {
    return simple(program, "divide", {{"x", x}, {"y", y}});
}

std::string scale(Program& program, const std::string& x, double scale, double bias) {
    return simple(program, "scale", {{"x", x}}, {{"scale", scale}, {"bias", bias}});
}

std::string reduce_sum(Program& program, const std::string& x) {
    return simple(program, "reduce_sum", {{"x", x}});
}

}  // namespace dtrain::layers
