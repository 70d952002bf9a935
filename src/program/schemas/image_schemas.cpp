// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "program/schemas/schemas.hpp"

namespace dtrain::program {
namespace {

using Pair = std::vector<std::int64_t>;

constexpr std::int64_t largest_step = 1 << 20;

// A pair of integers for height and width.
const Pair& checked_pair(const Checked& op, std::string_view attribute, std::int64_t min) {
    const auto& pair = op.wholes(attribute);
    const auto is_wrong = [&](std::int64_t value) { return value < min || value > largest_step; };
    if (pair.size() != 2 || std::ranges::any_of(pair, is_wrong))
        op.refuse_attribute(attribute, fmt::format("two numbers of at least {}: of height and width", min));
    return pair;
}

// [height, width] of the result of a window over images [batch, channels, height, width].
Pair result_size(const Checked& op, const Shape& images, const Pair& window) {
    const auto& stride = checked_pair(op, "stride", 1);
    const auto& padding = checked_pair(op, "padding", 0);
    Pair size(2);
    for (std::size_t i = 0; i < 2; ++i) {
        if (padding[i] >= window[i])
            op.refuse_attribute("padding",
                                fmt::format("less than the window's {}", dtrain::to_string(window)));
        size[i] = (images[2 + i] + 2 * padding[i] - window[i]) / stride[i] + 1;
        if (images[2 + i] + 2 * padding[i] < window[i])
            op.refuse("x", fmt::format("images of at least {} with the padding {}", dtrain::to_string(window),
                                       dtrain::to_string(padding)));
    }
    return size;
}

Types infer_conv2d(const Checked& op) {
    const auto type = op.real("x");
    op.expect("x", {{any, any, any, any}, type});
    const auto& x = op.shape("x");
    op.expect("filter", {{any, x[1], any, any}, type});
    const auto& filter = op.shape("filter");
    op.expect("bias", {{filter[0]}, type});
    const auto size = result_size(op, x, {filter[2], filter[3]});
    return {{{x[0], filter[0], size[0], size[1]}, type}};
}

Types infer_conv2d_grad_filter(const Checked& op) {
    const auto type = op.real("x");
    op.expect("x", {{any, any, any, any}, type});
    const auto& x = op.shape("x");
    const auto& window = checked_pair(op, "window", 1);
    const auto size = result_size(op, x, window);
    op.expect("out@grad", {{x[0], any, size[0], size[1]}, type});
    const auto channels = op.shape("out@grad")[1];
    return {{{channels, x[1], window[0], window[1]}, type}, {{channels}, type}};
}

Types infer_conv2d_grad_input(const Checked& op) {
    const auto type = op.real("filter");
    op.expect("filter", {{any, any, any, any}, type});
    const auto& filter = op.shape("filter");
    op.expect("out@grad", {{any, filter[0], any, any}, type});
    const auto& images = checked_pair(op, "images", 1);
    const auto& dout = op.shape("out@grad");
    const Shape x{dout[0], filter[1], images[0], images[1]};
    const auto size = result_size(op, x, {filter[2], filter[3]});
    op.expect("out@grad", {{dout[0], filter[0], size[0], size[1]}, type});
    return {{x, type}};
}

void make_conv2d_gradient(GradientMaker& maker) {
    const auto& op = maker.op();
    const auto dout = maker.of_output("out");
    const Attributes window{{"stride", op.attributes.at("stride")}, {"padding", op.attributes.at("padding")}};
    const bool wants_filter = !maker.of_input("filter").empty();
    const bool wants_bias = !maker.of_input("bias").empty();
    if (wants_filter || wants_bias) {
        const auto& filter = maker.variable(op.input("filter")).shape;
        auto attributes = window;
        attributes.emplace("window", Pair{filter[2], filter[3]});
        maker.append({"conv2d_grad_filter",
                      {{"x", op.input("x")}, {"out@grad", dout}},
                      {{"filter@grad", maker.of_input_or_unused("filter")},
                       {"bias@grad", maker.of_input_or_unused("bias")}},
                      attributes});
    }
    if (const auto dx = maker.of_input("x"); !dx.empty()) {
        const auto& x = maker.variable(op.input("x")).shape;
        auto attributes = window;
        attributes.emplace("images", Pair{x[2], x[3]});
        maker.append({"conv2d_grad_input",
                      {{"out@grad", dout}, {"filter", op.input("filter")}},
                      {{"x@grad", dx}},
                      attributes});
    }
}

Types infer_pool2d(const Checked& op) {
    const auto type = op.real("x");
    op.expect("x", {{any, any, any, any}, type});
    const auto& x = op.shape("x");
    const auto size = result_size(op, x, checked_pair(op, "window", 1));
    return {{{x[0], x[1], size[0], size[1]}, type}};
}

}  // namespace

std::vector<Schema> image_schemas() {
    const Attributes window{{"stride", Pair{1, 1}}, {"padding", Pair{0, 0}}};
    const auto with = [&](std::string_view name, Pair value) {
        auto attributes = window;
        attributes.emplace(name, std::move(value));
        return attributes;
    };
    std::vector<Schema> schemas;
    schemas.push_back({.type = "conv2d",
                       .inputs = {{"x"}, {"filter"}, {"bias"}},
                       .outputs = {{"out"}},
                       .attributes = window,
                       .infer = infer_conv2d,
                       .make_gradient = make_conv2d_gradient});
    schemas.push_back({.type = "conv2d_grad_filter",
                       .inputs = {{"x"}, {"out@grad"}},
                       .outputs = {{"filter@grad"}, {"bias@grad"}},
                       .attributes = with("window", {1, 1}),
                       .infer = infer_conv2d_grad_filter});
    schemas.push_back({.type = "conv2d_grad_input",
                       .inputs = {{"out@grad"}, {"filter"}},
                       .outputs = {{"x@grad"}},
                       .attributes = with("images", {1, 1}),
                       .infer = infer_conv2d_grad_input});
    struct Pooling {
        std::string_view type;
        std::string_view gradient;
    };
    for (const auto& [type, gradient] :
         {Pooling{"max_pool2d", "max_pool2d_grad"}, Pooling{"average_pool2d", "average_pool2d_grad"}}) {
        schemas.push_back({.type = type,
                           .inputs = {{"x"}},
                           .outputs = {{"out"}},
                           .attributes = with("window", {2, 2}),
                           .infer = infer_pool2d,
                           .make_gradient = [gradient_type = std::string(gradient)](GradientMaker& maker) {
                               maker.append(
                                   {gradient_type,
                                    {{"x", maker.op().input("x")}, {"out@grad", maker.of_output("out")}},
                                    {{"x@grad", maker.of_input("x")}},
                                    maker.op().attributes});
                           }});
        schemas.push_back({.type = gradient,
                           .inputs = {{"x"}, {"out@grad"}},
                           .outputs = {{"x@grad"}},
                           .attributes = with("window", {2, 2}),
                           .infer = [](const Checked& op) {
                               op.expect("out@grad", infer_pool2d(op).front());
                               return same_as_x(op);
                           }});
    }
    return schemas;
}

}  // namespace dtrain::program
