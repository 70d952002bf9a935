// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "program/ir/interpreter.hpp"

/// Central differences: f(p + h) - f(p - h) over 2h is f's slope up to h^2 and the rounding of f over h. In
/// double with h = 1e-5 that leaves about nine digits.
namespace dtrain {

/// Adds what is to be checked to a program that works with numbers of `type`; returns the loss.
using BuildLoss = std::function<std::string(Program& program, DataType type)>;

/// A parameter whose values check_gradients() chooses; `name` is returned.
inline std::string add_parameter(Program& program, const std::string& name, const Shape& shape,
                                 DataType type) {
    program.add({.name = name, .shape = shape, .type = type, .role = Role::parameter});
    return name;
}

/// Sum of out times fed weights, a different one for each element: no error in a gradient can hide.
inline std::string weigh(Program& program, const std::string& out) {
    const auto& variable = program.variable(out);
    const auto shape = variable.shape;
    const auto weights = layers::data(program, program.unique_name("weights"), shape, variable.type);
    return layers::reduce_sum(program, layers::multiply(program, out, weights));
}

/// Numbers that are float and double alike: parameters in [-0.9, 0.9], data in [-1, 1], integers 0..2.
inline void feed_numbers(const Program& program, const Interpreter& interpreter) {
    std::size_t phase = 0;
    for (const auto& variable : program.variables()) {
        if (variable.role != Role::data && variable.role != Role::parameter) continue;
        ++phase;
        const double limit = variable.role == Role::data ? 1.0 : 0.9;
        const auto count = static_cast<std::size_t>(element_count(variable.shape));
        for (std::size_t i = 0; i < count; ++i) {
            const auto angle = 0.7 * static_cast<double>(phase) + 2.3 * static_cast<double>(i);
            interpreter.set(variable.name, i,
                            is_integer(variable.type)
                                ? static_cast<double>(i * 2 % 3)
                                : static_cast<double>(static_cast<float>(limit * std::sin(angle))));
        }
    }
}

/// Types of the operators that check_gradients() has seen in a program so far.
inline std::set<std::string>& checked_operators() {
    static std::set<std::string> types;
    return types;
}

/// Gradients by all parameters, made by the program in double and in float, against central differences of
/// the program's own loss in double; and both losses against each other.
/// @param tolerance of the float gradients; they round to 6e-8 in each operation
inline void check_gradients(const BuildLoss& build, double tolerance = 1e-5) {
    struct Checked {
        Program program;
        std::string loss;
        std::vector<ParameterGradient> gradients;
    };
    const auto differentiated = [&](DataType type) {
        Checked made;
        made.loss = build(made.program, type);
        made.gradients = append_backward(made.program, made.loss);
        return made;
    };
    const auto exact = differentiated(DataType::float64);
    const auto single = differentiated(DataType::float32);
    ASSERT_FALSE(exact.gradients.empty());
    ASSERT_EQ(exact.gradients, single.gradients);

    const Program forward = [&] {
        Program program;
        build(program, DataType::float64);
        return program;
    }();
    for (const auto& op : forward.operators()) checked_operators().insert(op.type);
    Interpreter backward(exact.program);
    Interpreter backward_float(single.program);
    Interpreter evaluate(forward);
    for (const auto* interpreter : {&backward, &backward_float, &evaluate})
        feed_numbers(forward, *interpreter);
    backward.run();
    backward_float.run();
    evaluate.run();
    const auto loss_of = [&](Interpreter& interpreter) { return interpreter.numbers(exact.loss).front(); };
    ASSERT_EQ(loss_of(backward), loss_of(evaluate)) << "both see the same forward pass";
    EXPECT_NEAR(loss_of(backward_float), loss_of(backward), tolerance);

    double largest = 0;
    for (const auto& [parameter, gradient] : exact.gradients) {
        const auto slopes = backward.numbers(gradient);
        const auto slopes_float = backward_float.numbers(gradient);
        const auto values = evaluate.numbers(parameter);
        ASSERT_EQ(slopes.size(), values.size());
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double h = 1e-5;
            const auto loss_at = [&](double value) {
                evaluate.set(parameter, i, value);
                evaluate.run();
                return loss_of(evaluate);
            };
            const double slope = (loss_at(values[i] + h) - loss_at(values[i] - h)) / (2 * h);
            evaluate.set(parameter, i, values[i]);
            ASSERT_NEAR(slopes[i], slope, 2e-8) << parameter << "[" << i << "] in double";
            ASSERT_NEAR(slopes_float[i], slope, tolerance) << parameter << "[" << i << "] in float";
            largest = std::max(largest, std::fabs(slope));
        }
    }
    EXPECT_GT(largest, 0.02) << "gradients that are all nearly zero prove nothing";
}

}  // namespace dtrain
