// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <dtrain/layers.hpp>

#include "kernels/functions.hpp"
#include "program/simple_layer.hpp"

namespace dtrain::layers {
namespace {

bool is_activation(std::string_view name) {
    return name.empty() || name == "softmax" || kernels::Activations::contains(name);
}

}  // namespace

std::string data(Program& program, const std::string& name, const Shape& shape, DataType type) {
    program.add({.name = name, .shape = shape, .type = type, .role = Role::data});
    return name;
}

std::string fc(Program& program, const std::string& x, std::int64_t size, const FcOptions& options) {
    const auto& activation = options.activation;
    if (!is_activation(activation))
        throw ProgramError(fmt::format("layer fc: activation '{}' is unknown, expected {}, softmax or none",
                                       activation, fmt::join(kernels::Activations::types, ", ")),
                           "fc", x);
    if (size < 1) throw ProgramError(fmt::format("layer fc: size {} is below 1", size), "fc", x);
    const auto& input = program.variable(x);
    if (input.shape.size() != 2 || !is_real(input.type))
        throw ProgramError(fmt::format("layer fc: x '{}' is {} {}, expected float32 [batch, n]", x,
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

std::string matmul(Program& program, const std::string& x, const std::string& y,
                   const MatmulOptions& options) {
    return simple(program, "matmul", {{"x", x}, {"y", y}},
                  {{"transpose_x", std::int64_t{options.transpose_x}},
                   {"transpose_y", std::int64_t{options.transpose_y}}});
}

std::string unary(Program& program, const std::string& type, const std::string& x) {
    return simple(program, type, {{"x", x}});
}

std::string mean(Program& program, const std::string& x) {
    return simple(program, "mean", {{"x", x}});
}

CrossEntropy softmax_with_cross_entropy(Program& program, const std::string& logits,
                                        const std::string& label) {
    const auto stem = program.unique_name("cross_entropy");
    const CrossEntropy names{stem + ".loss", stem + ".row_loss", stem + ".probabilities"};
    program.append_with_outputs({"softmax_with_cross_entropy",
                                 {{"logits", logits}, {"label", label}},
                                 {{"probabilities", names.probabilities}, {"row_loss", names.row_loss}},
                                 {}});
    program.append_with_outputs({"mean", {{"x", names.row_loss}}, {{"out", names.loss}}, {}});
    return names;
}

std::string cross_entropy(Program& program, const std::string& probabilities, const std::string& label) {
    auto name = program.unique_name("cross_entropy");
    program.append_with_outputs(
        {"cross_entropy", {{"probabilities", probabilities}, {"label", label}}, {{"row_loss", name}}, {}});
    return name;
}

std::string bce_with_logits(Program& program, const std::string& logits, const std::string& label) {
    return simple(program, "bce_with_logits", {{"logits", logits}, {"label", label}});
}

std::string square_error(Program& program, const std::string& x, const std::string& y) {
    return square(program, subtract(program, x, y));
}

std::string mean_square_error(Program& program, const std::string& x, const std::string& y) {
    return mean(program, square_error(program, x, y));
}

std::string weighted_sum(Program& program, const std::string& rows, const std::string& weight) {
    return simple(program, "weighted_sum", {{"x", rows}, {"weight", weight}});
}

std::string correct_count(Program& program, const std::string& scores, const std::string& label,
                          const std::string& weight) {
    return simple(program, "correct_count", {{"scores", scores}, {"label", label}, {"weight", weight}});
}

std::string accuracy(Program& program, const std::string& scores, const std::string& label) {
    return simple(program, "accuracy", {{"scores", scores}, {"label", label}});
}

}  // namespace dtrain::layers
