// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

#include <dtrain/nn_tensor.hpp>

#include "eager/tape.hpp"

namespace dtrain::nn {
namespace {

struct Given {
    const char* slot;
    const Tensor& tensor;
};

std::vector<Tensor> run(std::string_view type, const std::vector<Given>& inputs,
                        const Attributes& attributes = {},
                        const std::vector<std::string_view>& outputs = {"out"}) {
    std::vector<eager::TracedInput> traced;
    traced.reserve(inputs.size());
    for (const auto& [slot, tensor] : inputs) traced.push_back({slot, tensor.traced()});
    std::vector<Tensor> results;
    for (auto& result : eager::run_traced(type, traced, outputs, attributes))
        results.emplace_back(std::move(result));
    return results;
}

Tensor run_one(std::string_view type, const std::vector<Given>& inputs, const Attributes& attributes = {}) {
    return run(type, inputs, attributes).front();
}

// Paddle's labels have an axis more.
Tensor as_labels(const Tensor& label) {
    const auto& shape = label.shape();
    return shape.size() == 2 && shape[1] == 1 ? reshape(label, {shape[0]}) : label;
}

// An axis counted from the front.
std::size_t from_front(const Tensor& x, const char* what, std::int64_t axis) {
    const auto axes = static_cast<std::int64_t>(x.shape().size());
    const auto counted = axis < 0 ? axis + axes : axis;
    if (counted < 0 || counted >= axes)
        throw ProgramError(fmt::format("flatten: {} is axis {}, and the tensor is {} {}", what, axis,
                                       to_string(x.type()), to_string(x.shape())),
                           "reshape", "");
    return static_cast<std::size_t>(counted);
}

}  // namespace

Tensor relu(const Tensor& x) {
    return run_one("relu", {{"x", x}});
}

Tensor tanh(const Tensor& x) {
    return run_one("tanh", {{"x", x}});
}

Tensor sigmoid(const Tensor& x) {
    return run_one("sigmoid", {{"x", x}});
}

Tensor softmax(const Tensor& x) {
    return run_one("softmax", {{"x", x}});
}

Tensor square(const Tensor& x) {
    return run_one("square", {{"x", x}});
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

Tensor matmul(const Tensor& x, const Tensor& y) {
    return run_one("matmul", {{"x", x}, {"y", y}});
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
    const auto first = from_front(x, "start", start);
    const auto last = from_front(x, "stop", stop);
    if (last < first)
        throw ProgramError(fmt::format("flatten: stop is axis {}, which is before start, {}", stop, start),
                           "reshape", "");
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

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return run_one("fc", {{"x", x}, {"weight", weight}, {"bias", bias}});
}

Tensor cross_entropy(const Tensor& logits, const Tensor& label) {
    const auto labels = as_labels(label);
    return mean(run("softmax_with_cross_entropy", {{"logits", logits}, {"label", labels}}, {},
                    {"probabilities", "row_loss"})[1]);
}

Tensor mse_loss(const Tensor& x, const Tensor& y) {
    return mean(square(x - y));
}

Tensor accuracy(const Tensor& scores, const Tensor& label) {
    return run_one("accuracy", {{"scores", scores}, {"label", as_labels(label)}});
}

}  // namespace dtrain::nn
