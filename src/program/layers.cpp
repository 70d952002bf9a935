// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <dtrain/layers.hpp>

namespace dtrain::layers {
namespace {

// Appends an operator with one output, named after the operator.
std::string simple(Program& program, const std::string& type, std::vector<Argument> inputs) {
    auto name = program.unique_name(type);
    program.append_with_outputs({type, std::move(inputs), {{"out", name}}, {}});
    return name;
}

}  // namespace

std::string data(Program& program, const std::string& name, const Shape& shape, DataType type) {
    program.add({.name = name, .shape = shape, .type = type, .role = Role::data});
    return name;
}

std::string fc(Program& program, const std::string& x, std::int64_t size, const FcOptions& options) {
    const auto& activation = options.activation;
    if (!activation.empty() && activation != "relu" && activation != "tanh" && activation != "sigmoid")
        throw ProgramError(
            fmt::format("layer fc: activation '{}' is unknown, expected relu, tanh, sigmoid or none",
                        activation),
            "fc", x);
    if (size < 1) throw ProgramError(fmt::format("layer fc: size {} is below 1", size), "fc", x);
    const auto& input = program.variable(x);
    if (input.shape.size() != 2 || input.type != DataType::float32)
        throw ProgramError(fmt::format("layer fc: x '{}' is {} {}, expected float32 [batch, n]", x,
                                       to_string(input.type), to_string(input.shape)),
                           "fc", x);
    const auto columns = input.shape[1];
    const auto stem = options.name.empty() ? program.unique_name("fc") : options.name;
    program.add({.name = stem + ".weight",
                 .shape = {columns, size},
                 .role = Role::parameter,
                 .initializer = Initializer::xavier_uniform(columns, size)});
    program.add({.name = stem + ".bias", .shape = {size}, .role = Role::parameter});
    program.append_with_outputs({"fc",
                                 {{"x", x}, {"weight", stem + ".weight"}, {"bias", stem + ".bias"}},
                                 {{"out", stem + ".out"}},
                                 {}});
    if (activation.empty()) return stem + ".out";
    const auto out = stem + "." + activation;
    program.append_with_outputs({activation, {{"x", stem + ".out"}}, {{"out", out}}, {}});
    return out;
}

std::string relu(Program& program, const std::string& x) {
    return simple(program, "relu", {{"x", x}});
}

std::string tanh(Program& program, const std::string& x) {
    return simple(program, "tanh", {{"x", x}});
}

std::string sigmoid(Program& program, const std::string& x) {
    return simple(program, "sigmoid", {{"x", x}});
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
