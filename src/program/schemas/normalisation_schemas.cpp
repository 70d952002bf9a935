// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

// Extents before and from the axis on of layer_norm.
struct Split {
    std::int64_t rows;
    std::int64_t size;
};

Split split_at_axis(const Checked& op) {
    const auto& shape = op.shape("x");
    const auto axis = op.whole("axis");
    if (axis < 1 || axis >= static_cast<std::int64_t>(shape.size()))
        op.refuse_attribute("axis", fmt::format("one of x's {} axes behind the first", shape.size()));
    const auto rows = element_count(Shape(shape.begin(), shape.begin() + axis));
    return {rows, element_count(shape) / rows};
}

Types infer_layer_norm(const Checked& op) {
    const auto type = op.real("x");
    const auto [rows, size] = split_at_axis(op);
    op.expect("scale", {{size}, type});
    op.expect("bias", {{size}, type});
    return {{op.shape("x"), type}, {{rows}, type}, {{rows}, type}};
}

Types infer_layer_norm_gradient(const Checked& op) {
    const auto type = op.real("x");
    const auto [rows, size] = split_at_axis(op);
    op.expect("scale", {{size}, type});
    op.expect("mean", {{rows}, type});
    op.expect("inverse_deviation", {{rows}, type});
    op.expect("out@grad", {op.shape("x"), type});
    return {{op.shape("x"), type}, {{size}, type}, {{size}, type}};
}

void make_layer_norm_gradient(GradientMaker& maker) {
    const auto& op = maker.op();
    for (const std::string slot : {"mean", "inverse_deviation"})
        if (!maker.of_output(slot).empty())
            throw ProgramError(
                fmt::format("operator layer_norm: only out has a gradient, and the loss depends on {} '{}'",
                            slot, op.output(slot)),
                op.type, op.output(slot));
    maker.append({"layer_norm_grad",
                  {{"x", op.input("x")},
                   {"scale", op.input("scale")},
                   {"mean", op.output("mean")},
                   {"inverse_deviation", op.output("inverse_deviation")},
                   {"out@grad", maker.of_output("out")}},
                  {{"x@grad", maker.of_input_or_unused("x")},
                   {"scale@grad", maker.of_input_or_unused("scale")},
                   {"bias@grad", maker.of_input_or_unused("bias")}},
                  {{"axis", op.attributes.at("axis")}}});
}

Types infer_dropout(const Checked& op) {
    const auto probability = op.number("probability");
    if (!(probability >= 0 && probability < 1)) op.refuse_attribute("probability", "at least 0 and below 1");
    if (op.shape("x").empty()) op.refuse("x", "at least one axis");
    for (const std::string_view slot : {"step", "first_row", "batch"})
        if (op.has(slot)) op.expect(slot, one(DataType::int64));
    return same_as_x(op);
}

// The gradient drops the same elements as the result: the same operator with the same counter.
void make_dropout_gradient(GradientMaker& maker) {
    auto gradient = maker.op();
    for (auto& input : gradient.inputs)
        if (input.slot == "x") input.variable = maker.of_output("out");
    gradient.outputs = {{"out", maker.of_input("x")}};
    maker.append(std::move(gradient));
}

}  // namespace

std::vector<Schema> normalisation_schemas() {
    std::vector<Schema> schemas;
    schemas.push_back({.type = "layer_norm",
                       .inputs = {{"x"}, {"scale"}, {"bias"}},
                       .outputs = {{"out"}, {"mean"}, {"inverse_deviation"}},
                       .attributes = {{"axis", std::int64_t{1}}, {"epsilon", 1e-5}},
                       .infer = infer_layer_norm,
                       .make_gradient = make_layer_norm_gradient});
    schemas.push_back({.type = "layer_norm_grad",
                       .inputs = {{"x"}, {"scale"}, {"mean"}, {"inverse_deviation"}, {"out@grad"}},
                       .outputs = {{"x@grad"}, {"scale@grad"}, {"bias@grad"}},
                       .attributes = {{"axis", std::int64_t{1}}},
                       .infer = infer_layer_norm_gradient});
    schemas.push_back({.type = "dropout",
                       .inputs = {{"x"},
                                  {.name = "step", .optional = true},
                                  {.name = "first_row", .optional = true},
                                  {.name = "batch", .optional = true}},
                       .outputs = {{"out"}},
                       .attributes = {{"probability", 0.5},
                                      {"seed", std::int64_t{0}},
                                      {"stream", std::int64_t{0}},
                                      {"is_test", std::int64_t{0}}},
                       .infer = infer_dropout,
                       .make_gradient = make_dropout_gradient,
                       .traits = {.element_wise = true}});
    return schemas;
}

}  // namespace dtrain::program
