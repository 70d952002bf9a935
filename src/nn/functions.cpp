// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "nn/graph.hpp"
#include "nn/run_function.hpp"

namespace dtrain::nn {
namespace {

// Paddle's labels have an additional axis.
Tensor as_labels(const Tensor& label) {
    const auto& shape = label.shape();
    return shape.size() == 2 && shape[1] == 1 ? reshape(label, {shape[0]}) : label;
}

// An axis counted from the front.
std::size_t from_front(const Tensor& x, const char* function, const char* what, std::int64_t axis) {
    const auto axes = static_cast<std::int64_t>(x.shape().size());
    const auto counted = axis < 0 ? axis + axes : axis;
    if (counted < 0 || counted >= axes)
        throw ProgramError(fmt::format("{}: {} is axis {}, and the tensor is {} {}", function, what, axis,
                                       to_string(x.type()), to_string(x.shape())),
                           function, "");
    return static_cast<std::size_t>(counted);
}

// Replaces an open size (-1) by the extent that the known sizes leave.
void fill_in_open(std::vector<std::int64_t>& sizes, std::int64_t extent) {
    if (const auto open = std::ranges::find(sizes, -1); open != sizes.end()) {
        *open = 0;
        *open = extent - std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
    }
}

}  // namespace

std::vector<Tensor> run(std::string_view type, const std::vector<Given>& inputs, const Attributes& attributes,
                        const std::vector<std::string_view>& outputs) {
    std::vector<eager::TracedInput> traced;
    traced.reserve(inputs.size());
    for (const auto& [slot, tensor] : inputs) traced.push_back({slot, tensor.traced()});
    std::vector<Tensor> results;
    for (auto& result : eager::run_traced(type, traced, outputs, attributes))
        results.emplace_back(std::move(result));
    return results;
}

Tensor unary(std::string_view type, const Tensor& x) {
    return run_one(type, {{"x", x}});
}

Tensor operator+(const Tensor& x, const Tensor& y) {
    return run_one("sum", {{"x", x}, {"x", y}});
}

Tensor operator-(const Tensor& x, const Tensor& y) {
    return run_one("subtract", {{"x", x}, {"y", y}});
}

Tensor operator*(const Tensor& x, const Tensor& y) {
    return run_one("multiply", {{"x", x}, {"y", y}});
}

Tensor operator/(const Tensor& x, const Tensor& y) {
    return run_one("divide", {{"x", x}, {"y", y}});
}

Tensor scale(const Tensor& x, double factor, double bias) {
    return run_one("scale", {{"x", x}}, {{"scale", factor}, {"bias", bias}});
}

Tensor matmul(const Tensor& x, const Tensor& y, bool transpose_x, bool transpose_y) {
    return run_one("matmul", {{"x", x}, {"y", y}},
                   {{"transpose_x", std::int64_t{transpose_x}}, {"transpose_y", std::int64_t{transpose_y}}});
}

Tensor mean(const Tensor& x) {
    return run_one("mean", {{"x", x}});
}

Tensor sum(const Tensor& x) {
    return run_one("reduce_sum", {{"x", x}});
}

Tensor reshape(const Tensor& x, Shape shape) {
    if (const auto open = std::ranges::find(shape, -1); open != shape.end()) {
        const auto others =
            std::accumulate(shape.begin(), shape.end(), std::int64_t{-1}, std::multiplies<>());
        *open = others > 0 ? element_count(x.shape()) / others : -1;
    }
    return run_one("reshape", {{"x", x}}, {{"shape", shape}});
}

Tensor flatten(const Tensor& x, std::int64_t start, std::int64_t stop) {
    const auto first = from_front(x, "flatten", "start", start);
    const auto last = from_front(x, "flatten", "stop", stop);
    if (last < first)
        throw ProgramError(fmt::format("flatten: stop is axis {}, which is before start, {}", stop, start),
                           "flatten", "");
    if (first == last) return x;
    Shape shape;
    for (std::size_t axis = 0; axis < x.shape().size(); ++axis) {
        const auto extent = x.shape()[axis];
        if (axis > first && axis <= last)
            shape.back() *= extent;
        else
            shape.push_back(extent);
    }
    return reshape(x, shape);
}

Tensor concat(const std::vector<Tensor>& parts, std::int64_t axis) {
    if (parts.empty()) throw ProgramError("concat: there is no tensor", "concat", "");
    const auto from = from_front(parts.front(), "concat", "axis", axis);
    std::vector<Given> given;
    given.reserve(parts.size());
    for (const auto& part : parts) given.push_back({"x", part});
    return run_one("concat", given, {{"axis", static_cast<std::int64_t>(from)}});
}

std::vector<Tensor> split(const Tensor& x, std::vector<std::int64_t> sizes, std::int64_t axis) {
    const auto from = from_front(x, "split", "axis", axis);
    if (sizes.empty()) throw ProgramError("split: there are no sizes", "split", "");
    fill_in_open(sizes, x.shape()[from]);
    const std::vector<std::string_view> outputs(sizes.size(), "out");
    return run("split", {{"x", x}}, {{"axis", static_cast<std::int64_t>(from)}, {"sizes", sizes}}, outputs);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return run_one("fc", {{"x", x}, {"weight", weight}, {"bias", bias}});
}

Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                  double epsilon) {
    const auto& shape = x.shape();
    const auto axes = std::ssize(shape) - std::ssize(normalized_shape);
    if (normalized_shape.empty() || axes < 1 ||
        !std::ranges::equal(std::span(shape).subspan(static_cast<std::size_t>(axes)), normalized_shape))
        throw ProgramError(
            fmt::format("layer_norm: x is {} {}, expected the last axes to be {}, and one before them",
                        to_string(x.type()), to_string(shape), to_string(normalized_shape)),
            "layer_norm", "");
    return run("layer_norm", {{"x", x}, {"scale", weight}, {"bias", bias}},
               {{"axis", std::int64_t{axes}}, {"epsilon", epsilon}}, {"out", "mean", "inverse_deviation"})
        .front();
}

Tensor cross_entropy(const Tensor& logits, const Tensor& label, const CrossEntropyOptions& options) {
    const auto labels = as_labels(label);
    if (!options.use_softmax)
        return mean(
            run("cross_entropy", {{"probabilities", logits}, {"label", labels}}, {}, {"row_loss"}).front());
    return mean(run("softmax_with_cross_entropy", {{"logits", logits}, {"label", labels}}, {},
                    {"probabilities", "row_loss"})[1]);
}

Tensor bce_with_logits(const Tensor& logits, const Tensor& label) {
    return mean(run_one("bce_with_logits", {{"logits", logits}, {"label", label}}));
}

Tensor mse_loss(const Tensor& x, const Tensor& y) {
    return mean(square(x - y));
}

Tensor accuracy(const Tensor& scores, const Tensor& label) {
    return run_one("accuracy", {{"scores", scores}, {"label", as_labels(label)}});
}

}  // namespace dtrain::nn
