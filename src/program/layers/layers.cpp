// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dtrain/layers.hpp>

#include "kernels/functors/functions.hpp"
#include "program/layers/simple_layer.hpp"

namespace dtrain::layers {
namespace {

bool is_activation(std::string_view name) {
    return name.empty() || name == "softmax" || kernels::Activations::contains(name);
}

}  // namespace

Var data(Program& program, const std::string& name, const Shape& shape, DataType type) {
    program.add({.name = name, .shape = shape, .type = type, .role = Role::data});
    return name;
}

Var fc(Program& program, const Var& x, std::int64_t size, const FcOptions& options) {
    const auto& activation = options.activation;
    if (!is_activation(activation))
        throw ProgramError(fmt::format("layer fc: activation '{}' is unknown, expected {}, softmax or none",
                                       activation, fmt::join(kernels::Activations::types, ", ")),
                           "fc", x);
    if (size < 1) throw ProgramError(fmt::format("layer fc: size {} is below 1", size), "fc", x);
    const auto& input = program.variable(x);
    if (input.shape.size() != 2 || !is_real(input.type))
        throw ProgramError(fmt::format("layer fc: x '{}' is {} {}, expected float32 [batch, n]", x.name(),
                                       to_string(input.type), to_string(input.shape)),
                           "fc", x);
    const auto columns = input.shape[1];
    const auto type = input.type;
    const auto stem = options.name.empty() ? program.unique_name("fc") : options.name;
    program.add({.name = stem + ".weight",
                 .shape = {columns, size},
                 .type = type,
                 .role = Role::parameter,
                 .initializer = Initializer::xavier_uniform(columns, size)});
    program.add({.name = stem + ".bias", .shape = {size}, .type = type, .role = Role::parameter});
    program.append_with_outputs({"fc",
                                 {{"x", x}, {"weight", stem + ".weight"}, {"bias", stem + ".bias"}},
                                 {{"out", stem + ".out"}},
                                 {}});
    if (activation.empty()) return stem + ".out";
    const auto out = stem + "." + activation;
    program.append_with_outputs({activation, {{"x", stem + ".out"}}, {{"out", out}}, {}});
    return out;
}

Var matmul(Program& program, const Var& x, const Var& y, const MatmulOptions& options) {
    return simple(program, "matmul", {{"x", x}, {"y", y}},
                  {{"transpose_x", std::int64_t{options.transpose_x}},
                   {"transpose_y", std::int64_t{options.transpose_y}}});
}

Var unary(Program& program, const std::string& type, const Var& x) {
    return simple(program, type, {{"x", x}});
}

Var mean(Program& program, const Var& x) {
    return simple(program, "mean", {{"x", x}});
}

CrossEntropy softmax_with_cross_entropy(Program& program, const Var& logits, const Var& label) {
    const auto stem = program.unique_name("cross_entropy");
    const CrossEntropy names{stem + ".loss", stem + ".row_loss", stem + ".probabilities"};
    program.append_with_outputs({"softmax_with_cross_entropy",
                                 {{"logits", logits}, {"label", label}},
                                 {{"probabilities", names.probabilities}, {"row_loss", names.row_loss}},
                                 {}});
    program.append_with_outputs({"mean", {{"x", names.row_loss}}, {{"out", names.loss}}, {}});
    return names;
}

Var cross_entropy(Program& program, const Var& probabilities, const Var& label) {
    auto name = program.unique_name("cross_entropy");
    program.append_with_outputs(
        {"cross_entropy", {{"probabilities", probabilities}, {"label", label}}, {{"row_loss", name}}, {}});
    return name;
}

Var bce_with_logits(Program& program, const Var& logits, const Var& label) {
    return simple(program, "bce_with_logits", {{"logits", logits}, {"label", label}});
}

Var square_error(Program& program, const Var& x, const Var& y) {
    return square(program, subtract(program, x, y));
}

Var mse_loss(Program& program, const Var& x, const Var& y) {
    return mean(program, square_error(program, x, y));
}

Var mean_square_error(Program& program, const Var& x, const Var& y) {
    return mse_loss(program, x, y);
}

Var weighted_sum(Program& program, const Var& rows, const Var& weight) {
    return simple(program, "weighted_sum", {{"x", rows}, {"weight", weight}});
}

Var correct_count(Program& program, const Var& scores, const Var& label, const Var& weight) {
    return simple(program, "correct_count", {{"scores", scores}, {"label", label}, {"weight", weight}});
}

Var accuracy(Program& program, const Var& scores, const Var& label) {
    return simple(program, "accuracy", {{"scores", scores}, {"label", label}});
}

}  // namespace dtrain::layers
