// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

Types infer_x_and_y(const Checked& op) {
    const auto types = same_as_x(op);
    op.expect("y", types.front());
    return types;
}

// Schema of an operator with inputs x and y of the same shape.
Schema binary(std::string_view type, std::function<void(GradientMaker&)> make_gradient) {
    return {.type = type,
            .inputs = {{"x"}, {"y"}},
            .outputs = {{"out"}},
            .infer = infer_x_and_y,
            .make_gradient = std::move(make_gradient),
            .traits = {.element_wise = true}};
}

Operator scaled(const std::string& x, const std::string& out, double scale) {
    return {"scale", {{"x", x}}, {{"out", out}}, {{"scale", scale}}};
}

void make_sum_gradient(GradientMaker& maker) {
    for (std::size_t i = 0; i < maker.op().inputs.size(); ++i)
        if (const auto dx = maker.of_input_at(i); !dx.empty())
            maker.append({"sum", {{"x", maker.of_output("out")}}, {{"out", dx}}, {}});
}

void make_subtract_gradient(GradientMaker& maker) {
    const auto dout = maker.of_output("out");
    if (const auto dx = maker.of_input("x"); !dx.empty()) maker.append(scaled(dout, dx, 1.0));
    if (const auto dy = maker.of_input("y"); !dy.empty()) maker.append(scaled(dout, dy, -1.0));
}

void make_multiply_gradient(GradientMaker& maker) {
    const auto& op = maker.op();
    const auto dout = maker.of_output("out");
    if (const auto dx = maker.of_input("x"); !dx.empty())
        maker.append({"multiply", {{"x", dout}, {"y", op.input("y")}}, {{"out", dx}}, {}});
    if (const auto dy = maker.of_input("y"); !dy.empty())
        maker.append({"multiply", {{"x", dout}, {"y", op.input("x")}}, {{"out", dy}}, {}});
}

void make_divide_gradient(GradientMaker& maker) {
    const auto& op = maker.op();
    const auto dout = maker.of_output("out");
    if (const auto dx = maker.of_input("x"); !dx.empty())
        maker.append({"divide", {{"x", dout}, {"y", op.input("y")}}, {{"out", dx}}, {}});
    if (const auto dy = maker.of_input("y"); !dy.empty())
        maker.append({"divide_grad_y",
                      {{"y", op.input("y")}, {"out", op.output("out")}, {"out@grad", dout}},
                      {{"y@grad", dy}},
                      {}});
}

Shape factor_shape(const Checked& op, std::string_view slot, std::string_view attribute) {
    auto shape = op.shape(slot);
    if (op.whole(attribute) != 0) std::swap(shape.front(), shape.back());
    return shape;
}

Types infer_matmul(const Checked& op) {
    const auto type = op.real("x");
    op.expect("x", {{any, any}, type});
    op.expect("y", {{any, any}, type});
    const auto x = factor_shape(op, "x", "transpose_x");
    const auto y = factor_shape(op, "y", "transpose_y");
    if (x[1] != y[0])
        op.expect("y", {op.whole("transpose_y") != 0 ? Shape{any, x[1]} : Shape{x[1], any}, type});
    return {{{x[0], y[1]}, type}};
}

// With X = op(x) and Y = op(y): dX = dout Y^T and dY = X^T dout, each transposed like its factor.
void make_matmul_gradient(GradientMaker& maker) {
    const auto& op = maker.op();
    const auto dout = maker.of_output("out");
    const auto is_set = [&](std::string_view name) {
        return std::get<std::int64_t>(op.attributes.find(name)->second) != 0;
    };
    const auto product = [&](const std::string& x, bool transpose_x, const std::string& y, bool transpose_y,
                             const std::string& out) {
        maker.append(
            {"matmul",
             {{"x", x}, {"y", y}},
             {{"out", out}},
             {{"transpose_x", std::int64_t{transpose_x}}, {"transpose_y", std::int64_t{transpose_y}}}});
    };
    const auto& x = op.input("x");
    const auto& y = op.input("y");
    const bool tx = is_set("transpose_x");
    const bool ty = is_set("transpose_y");
    if (const auto dx = maker.of_input("x"); !dx.empty())
        tx ? product(y, ty, dout, true, dx) : product(dout, false, y, !ty, dx);
    if (const auto dy = maker.of_input("y"); !dy.empty())
        ty ? product(dout, true, x, tx, dy) : product(x, !tx, dout, false, dy);
}

}  // namespace

std::vector<Schema> arithmetic_schemas() {
    std::vector<Schema> schemas;
    schemas.push_back({.type = "sum",
                       .inputs = {{"x", true}},
                       .outputs = {{"out"}},
                       .infer = same_as_x,
                       .make_gradient = make_sum_gradient,
                       .traits = {.element_wise = true}});
    schemas.push_back(binary("subtract", make_subtract_gradient));
    schemas.push_back(binary("multiply", make_multiply_gradient));
    schemas.push_back(binary("divide", make_divide_gradient));
    schemas.push_back({.type = "divide_grad_y",
                       .inputs = {{"y"}, {"out"}, {"out@grad"}},
                       .outputs = {{"y@grad"}},
                       .infer = [](const Checked& op) -> Types {
                           const TensorType type{op.shape("y"), op.real("y")};
                           op.expect("out", type);
                           op.expect("out@grad", type);
                           return {type};
                       },
                       .traits = {.element_wise = true}});
    schemas.push_back({.type = "scale",
                       .inputs = {{"x"}},
                       .outputs = {{"out"}},
                       .attributes = {{"scale", 1.0}, {"bias", 0.0}},
                       .infer = same_as_x,
                       .make_gradient =
                           [](GradientMaker& maker) {
                               maker.append(scaled(maker.of_output("out"), maker.of_input("x"),
                                                   std::get<double>(maker.op().attributes.at("scale"))));
                           },
                       .traits = {.element_wise = true}});
    schemas.push_back({.type = "fill_like",
                       .inputs = {{"x"}},
                       .outputs = {{"out"}},
                       .attributes = {{"value", 0.0}},
                       .infer = same_as_x,
                       .traits = {.element_wise = true}});
    schemas.push_back({.type = "matmul",
                       .inputs = {{"x"}, {"y"}},
                       .outputs = {{"out"}},
                       .attributes = {{"transpose_x", std::int64_t{0}}, {"transpose_y", std::int64_t{0}}},
                       .infer = infer_matmul,
                       .make_gradient = make_matmul_gradient});
    return schemas;
}

}  // namespace dtrain::program
