// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: central differences in double precision, see check_gradients.hpp.
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>

#include "program/schemas/check_gradients.hpp"

namespace dtrain {
namespace {

const Shape some{3, 4};

// f(p) of a parameter with values in [-0.9, 0.9], or 1.5 more.
template <class Function>
void check_function(const Function& function, double shift = 0) {
    check_gradients([&](Program& program, DataType type) {
        auto x = add_parameter(program, "p", some, type);
        if (shift != 0) x = layers::scale(program, x, 1, shift);
        return weigh(program, function(program, x));
    });
}

TEST(OperatorGradients, ElementByElement) {
    check_function(layers::relu);
    check_function(layers::tanh);
    check_function(layers::sigmoid);
    check_function(layers::square);
    check_function(layers::softmax);
    check_function(layers::sqrt, 1.5);
    check_function([](Program& program, const std::string& x) { return layers::scale(program, x, -1.7, 3); });
}

TEST(OperatorGradients, OfTwoVariables) {
    const auto check = [](const auto& function) {
        check_gradients([&](Program& program, DataType type) {
            const auto x = add_parameter(program, "p", some, type);
            const auto y =
                layers::scale(program, add_parameter(program, "q", some, type), 1, 2);  // away from 0
            return weigh(program, function(program, x, y));
        });
    };
    check(layers::subtract);
    check(layers::multiply);
    check(layers::divide);
    check(layers::square_error);
    check([](Program& program, const std::string& x, const std::string& y) {
        return layers::sum(program, {x, y, x});
    });
}

TEST(OperatorGradients, OfOneVariableTwice) {
    check_function([](Program& program, const std::string& x) { return layers::multiply(program, x, x); });
    check_function([](Program& program, const std::string& x) {
        return layers::divide(program, layers::square(program, x), layers::scale(program, x, 2, 5));
    });
}

TEST(OperatorGradients, OfOneFactorAlone) {
    for (const auto& function : {layers::subtract, layers::multiply, layers::divide}) {
        for (const bool second : {false, true}) {
            check_gradients([&](Program& program, DataType type) {
                const auto fixed = layers::scale(program, layers::data(program, "fixed", some, type), 1, 2);
                const auto p = layers::scale(program, add_parameter(program, "p", some, type), 1, 2);
                return weigh(program, second ? function(program, fixed, p) : function(program, p, fixed));
            });
        }
    }
}

TEST(OperatorGradients, Matmul) {
    for (const bool transpose_x : {false, true}) {
        for (const bool transpose_y : {false, true}) {
            check_gradients([&](Program& program, DataType type) {
                const auto x = add_parameter(program, "p", transpose_x ? Shape{4, 3} : Shape{3, 4}, type);
                const auto y = add_parameter(program, "q", transpose_y ? Shape{5, 4} : Shape{4, 5}, type);
                return weigh(program, layers::matmul(program, x, y, {transpose_x, transpose_y}));
            });
        }
    }
}

TEST(OperatorGradients, ToOneNumber) {
    check_gradients([](Program& program, DataType type) {
        return layers::mean(program, layers::square(program, add_parameter(program, "p", {2, 3}, type)));
    });
    check_gradients([](Program& program, DataType type) {
        return layers::reduce_sum(program,
                                  layers::square(program, add_parameter(program, "p", {2, 3}, type)));
    });
}

TEST(OperatorGradients, Losses) {
    check_gradients([](Program& program, DataType type) {
        return layers::mse_loss(program, add_parameter(program, "p", {4}, type),
                                layers::data(program, "y", {4}, type));
    });
    check_gradients([](Program& program, DataType type) {
        const auto label = layers::sigmoid(program, layers::data(program, "y", {3, 2}, type));
        return weigh(program,
                     layers::bce_with_logits(program, add_parameter(program, "p", {3, 2}, type), label));
    });
    for (const auto labels : {DataType::int64, DataType::int32}) {
        check_gradients([&](Program& program, DataType type) {
            const auto scores = layers::softmax(program, add_parameter(program, "p", {4, 3}, type));
            return weigh(program,
                         layers::cross_entropy(program, scores, layers::data(program, "label", {4}, labels)));
        });
        check_gradients([&](Program& program, DataType type) {
            return weigh(program, layers::softmax_with_cross_entropy(
                                      program, add_parameter(program, "p", {4, 3}, type),
                                      layers::data(program, "label", {4}, labels))
                                      .row_loss);
        });
    }
}

}  // namespace
}  // namespace dtrain
