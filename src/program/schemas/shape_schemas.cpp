// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

Types infer_reshape(const Checked& op) {
    const auto& shape = op.wholes("shape");
    if (std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 1; }))
        op.refuse_attribute("shape", "extents of at least 1");
    if (element_count(shape) != element_count(op.shape("x")))
        op.refuse(
            "x", fmt::format("{} elements for the shape {}", element_count(shape), dtrain::to_string(shape)));
    return {{shape, op.input("x").type}};
}

void make_reshape_gradient(GradientMaker& maker) {
    maker.append({"reshape",
                  {{"x", maker.of_output("out")}},
                  {{"out", maker.of_input("x")}},
                  {{"shape", maker.variable(maker.op().input("x")).shape}}});
}

std::size_t checked_axis(const Checked& op, const Shape& shape) {
    const auto axis = op.whole("axis");
    if (axis < 0 || axis >= static_cast<std::int64_t>(shape.size()))
        op.refuse_attribute("axis", fmt::format("one of the {} axes of x, 0 the first", shape.size()));
    return static_cast<std::size_t>(axis);
}

Types infer_concat(const Checked& op) {
    TensorType type{op.shape("x"), op.input("x").type};
    const auto axis = checked_axis(op, type.shape);
    type.shape[axis] = any;
    op.expect("x", type);
    type.shape[axis] = 0;
    for (const auto& part : op.types_of("x")) type.shape[axis] += part.shape[axis];
    return {type};
}

void make_concat_gradient(GradientMaker& maker) {
    const auto& op = maker.op();
    const auto& axis = op.attributes.at("axis");
    Operator split{"split", {{"x", maker.of_output("out")}}, {}, {{"axis", axis}}};
    std::vector<std::int64_t> sizes;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        const auto& shape = maker.variable(op.inputs[i].variable).shape;
        sizes.push_back(shape[static_cast<std::size_t>(std::get<std::int64_t>(axis))]);
        split.outputs.push_back({"out", maker.of_input_at_or_unused(i)});
    }
    split.attributes.emplace("sizes", sizes);
    maker.append(std::move(split));
}

Types infer_split(const Checked& op) {
    const auto& shape = op.shape("x");
    const auto axis = checked_axis(op, shape);
    const auto& sizes = op.wholes("sizes");
    auto left = shape[axis];
    for (const auto size : sizes) left -= size >= 1 && size <= left ? size : left + 1;
    if (left != 0)
        op.refuse_attribute(
            "sizes", fmt::format("sizes of at least 1 that add up to {}, the extent of x", shape[axis]));
    Types types;
    for (const auto size : sizes) {
        types.push_back({shape, op.input("x").type});
        types.back().shape[axis] = size;
    }
    return types;
}

void make_split_gradient(GradientMaker& maker) {
    const auto& op = maker.op();
    Operator concat{"concat", {}, {{"out", maker.of_input("x")}}, {{"axis", op.attributes.at("axis")}}};
    for (std::size_t i = 0; i < op.outputs.size(); ++i) {
        auto part = maker.of_output_at(i);
        if (part.empty()) {  // the loss does not depend on this part
            part = maker.helper("zeros");
            maker.append({"fill_like", {{"x", op.outputs[i].variable}}, {{"out", part}}, {}});
        }
        concat.inputs.push_back({"x", part});
    }
    maker.append(std::move(concat));
}

}  // namespace

std::vector<Schema> shape_schemas() {
    std::vector<Schema> schemas;
    schemas.push_back({.type = "reshape",
                       .inputs = {{"x"}},
                       .outputs = {{"out"}},
                       .attributes = {{"shape", std::vector<std::int64_t>()}},
                       .infer = infer_reshape,
                       .make_gradient = make_reshape_gradient});
    schemas.push_back({.type = "concat",
                       .inputs = {{"x", true}},
                       .outputs = {{"out"}},
                       .attributes = {{"axis", std::int64_t{0}}},
                       .infer = infer_concat,
                       .make_gradient = make_concat_gradient});
    schemas.push_back({.type = "split",
                       .inputs = {{"x"}},
                       .outputs = {{"out", true}},
                       .attributes = {{"axis", std::int64_t{0}}, {"sizes", std::vector<std::int64_t>()}},
                       .infer = infer_split,
                       .make_gradient = make_split_gradient});
    return schemas;
}

}  // namespace dtrain::program
