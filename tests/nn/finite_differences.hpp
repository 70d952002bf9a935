// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <dtrain/nn_tensor.hpp>

namespace dtrain::nn {

using Function = std::function<Tensor(const std::vector<Parameter>& parameters)>;

inline Parameter filled(const std::string& name, const Shape& shape, double phase) {
    const Parameter parameter(name, shape, {}, DataType::float64);
    std::vector<double> values(parameter.values<double>().size());
    auto angle = phase;
    for (auto& value : values) value = 0.9 * std::sin(angle += 2.3);
    parameter.set_values(values);
    return parameter;
}

/// Sum of the result times weights, a different one for each element.
inline Tensor weighed(const Tensor& x) {
    std::vector<double> weights;
    for (std::int64_t i = 0; i < element_count(x.shape()); ++i)
        weights.push_back(0.3 + std::cos(static_cast<double>(i)));
    return sum(x * Tensor::of(weights, x.shape()));
}

/// Compares gradients with central differences of the function's own values in double, (f(p + h) - f(p - h))
/// / 2h with h = 1e-5, which leaves about nine digits.
inline void check_gradients(const Function& function, const std::vector<Shape>& shapes) {
    std::vector<Parameter> parameters;
    for (std::size_t i = 0; i < shapes.size(); ++i)
        parameters.push_back(filled("p" + std::to_string(i), shapes[i], 0.7 * static_cast<double>(i + 1)));
    const auto loss = [&] { return weighed(function(parameters)); };
    loss().backward();
    double largest = 0;
    for (const auto& parameter : parameters) {
        ASSERT_TRUE(parameter.has_gradient()) << parameter.name();
        const auto given = parameter.values<double>();
        std::vector<double> values(given.begin(), given.end());
        const auto loss_with = [&](std::size_t i, double value) {
            const auto before = std::exchange(values[i], value);
            parameter.set_values(values);
            values[i] = before;
            return loss().item<double>();
        };
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double h = 1e-5;
            const auto above = loss_with(i, values[i] + h);
            const auto below = loss_with(i, values[i] - h);
            const auto slope = (above - below) / (2 * h);
            ASSERT_NEAR(parameter.gradient<double>()[i], slope, 2e-8) << parameter.name() << "[" << i << "]";
            largest = std::max(largest, std::fabs(slope));
        }
        parameter.set_values(values);
    }
    EXPECT_GT(largest, 0.02) << "gradients that are all nearly zero prove nothing";
}

}  // namespace dtrain::nn
