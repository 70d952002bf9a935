// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the formulas of the papers in double precision, element by element, with gradients that are known:
// the loss is the sum of weights times parameters, so the gradient is the weights.
#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "program/schemas/check_gradients.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

constexpr std::size_t count = 37;  // no multiple of a vector
constexpr int optimizer_steps = 4;

double gradient_of(std::size_t i, int step) {
    return i == 5 ? 0.0 : std::sin(1.3 * static_cast<double>(i) + 0.9 * step);
}

double start_of(std::size_t i) {
    return i % 9 == 4 ? 0.0 : 0.8 * std::cos(0.7 * static_cast<double>(i));
}

/// One step for one element: changes p, and what it keeps in between.
using Formula = std::function<void(double& p, double g, int t, double* state)>;

void check_optimizer(const Optimizer& optimizer, const Formula& formula,
                     const OptimizerOptions& options = {}) {
    for (const auto type : {DataType::float32, DataType::float64}) {
        Program program;
        const auto p = add_parameter(program, "p", {count}, type);
        const auto weights = layers::data(program, "g", {count}, type);
        minimize(program, layers::reduce_sum(program, layers::multiply(program, p, weights)), optimizer,
                 options);
        Interpreter interpreter(program);
        std::vector<double> exact(count);
        std::vector<std::array<double, 3>> state(count);
        for (std::size_t i = 0; i < count; ++i) interpreter.set(p, i, exact[i] = start_of(i));
        for (int step = 0; step < optimizer_steps; ++step) {
            for (std::size_t i = 0; i < count; ++i) interpreter.set("g", i, gradient_of(i, step));
            interpreter.run();
            for (std::size_t i = 0; i < count; ++i)
                formula(exact[i], gradient_of(i, step), step + 1, state[i].data());
        }
        const auto given = interpreter.numbers(p);
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_TRUE(std::isfinite(exact[i]));
            ASSERT_NEAR(given[i], exact[i], type == DataType::float64 ? 1e-12 : 3e-6) << i;
        }
    }
}

TEST(Optimizers, Sgd) {
    check_optimizer(Sgd{.learning_rate = 0.1}, [](double& p, double g, int, double*) { p -= 0.1 * g; });
}

TEST(Optimizers, Momentum) {
    check_optimizer(Momentum{.learning_rate = 0.1, .mu = 0.8}, [](double& p, double g, int, double* state) {
        state[0] = 0.8 * state[0] + g;
        p -= 0.1 * state[0];
    });
}

// Sutskever et al. in their own variables: the gradient is taken at theta + mu v, which is the parameter
// here.
TEST(Optimizers, NesterovMomentum) {
    check_optimizer(Momentum{.learning_rate = 0.1, .mu = 0.8, .nesterov = true},
                    [](double& p, double g, int, double* state) {
                        double theta = p - 0.8 * state[0];
                        state[0] = 0.8 * state[0] - 0.1 * g;
                        theta += state[0];
                        p = theta + 0.8 * state[0];
                    });
}

TEST(Optimizers, Adagrad) {
    check_optimizer(Adagrad{.learning_rate = 0.1, .epsilon = 1e-5, .initial = 0.25},
                    [](double& p, double g, int t, double* state) {
                        if (t == 1) state[0] = 0.25;
                        state[0] += g * g;
                        p -= 0.1 * g / (std::sqrt(state[0]) + 1e-5);
                    });
}

void adam_step(double& p, double g, int t, double* state) {
    state[0] = 0.9 * state[0] + 0.1 * g;
    state[1] = 0.99 * state[1] + 0.01 * g * g;
    const double m = state[0] / (1 - std::pow(0.9, t));
    const double v = state[1] / (1 - std::pow(0.99, t));
    p -= 0.05 * m / (std::sqrt(v) + 1e-6);
}

TEST(Optimizers, Adam) {
    check_optimizer(Adam{.learning_rate = 0.05, .beta2 = 0.99, .epsilon = 1e-6}, adam_step);
}

TEST(Optimizers, AdamWDecaysWeightsBesideTheGradient) {
    AdamW adamw{.learning_rate = 0.05, .beta2 = 0.99, .epsilon = 1e-6, .weight_decay = 0.3};
    check_optimizer(adamw, [](double& p, double g, int t, double* state) {
        const double decay = 0.05 * 0.3 * p;
        adam_step(p, g, t, state);
        p -= decay;
    });
    adamw.without_decay = {"p"};
    check_optimizer(adamw, adam_step);
    adamw.without_decay = {"q"};
    EXPECT_THAT(message_of<ProgramError>([&] { check_optimizer(adamw, adam_step); }),
                HasSubstr("there is no variable 'q'"));
}

TEST(Optimizers, Ftrl) {
    check_optimizer(Ftrl{.learning_rate = 0.2, .beta = 0.7, .l1 = 0.3, .l2 = 0.1},
                    [](double& w, double g, int, double* state) {
                        auto& z = state[0];
                        auto& n = state[1];
                        const double sigma = (std::sqrt(n + g * g) - std::sqrt(n)) / 0.2;
                        z += g - sigma * w;
                        n += g * g;
                        const double sign = z < 0 ? -1 : 1;
                        w = std::fabs(z) <= 0.3 ? 0 : -(z - sign * 0.3) / ((0.7 + std::sqrt(n)) / 0.2 + 0.1);
                    });
}

TEST(Optimizers, FtrlMakesSparseModels) {
    Program program;
    const auto p = add_parameter(program, "p", {count}, DataType::float32);
    const auto weights = layers::data(program, "g", {count});
    minimize(program, layers::reduce_sum(program, layers::multiply(program, p, weights)), Ftrl{.l1 = 0.5});
    Interpreter interpreter(program);
    for (std::size_t i = 0; i < count; ++i) interpreter.set("g", i, gradient_of(i, 0));
    interpreter.run();
    for (std::size_t i = 0; i < count; ++i)
        EXPECT_EQ(interpreter.numbers(p)[i] == 0, std::fabs(gradient_of(i, 0)) <= 0.5) << i;
}

TEST(Regularisation, AddsItsTermToTheGradient) {
    check_optimizer(Sgd{.learning_rate = 0.1},
                    [](double& p, double g, int, double*) { p -= 0.1 * (g + 0.5 * p); },
                    {.regularisation = L2Decay{0.5}});
    check_optimizer(Sgd{.learning_rate = 0.1},
                    [](double& p, double g, int, double*) {
                        p -= 0.1 * (g + 0.5 * (p > 0 ? 1 : p < 0 ? -1 : 0));
                    },
                    {.regularisation = L1Decay{0.5}});
}

TEST(Regularisation, OfAParameterReplacesTheCommonOne) {
    check_optimizer(Sgd{.learning_rate = 0.1}, [](double& p, double g, int, double*) { p -= 0.1 * g; },
                    {.regularisation = L2Decay{0.5}, .regularisation_of = {{"p", NoDecay{}}}});
    EXPECT_EQ(message_of<ProgramError>([] {
                  check_optimizer(Sgd{}, {}, {.regularisation_of = {{"bias", NoDecay{}}}});
              }),
              "regularisation_of: 'bias' is no parameter that is trained here");
}

TEST(Clipping, ByValue) {
    check_optimizer(Sgd{.learning_rate = 0.1},
                    [](double& p, double g, int, double*) { p -= 0.1 * std::min(std::max(g, -0.3), 0.5); },
                    {.clipping = ClipByValue{-0.3, 0.5}});
}

TEST(Clipping, ByNormComesBeforeRegularisation) {
    for (const double limit : {2.0, 100.0}) {
        check_optimizer(Sgd{.learning_rate = 0.1},
                        [&](double& p, double g, int t, double*) {
                            double squares = 0;
                            for (std::size_t i = 0; i < count; ++i)
                                squares += std::pow(gradient_of(i, t - 1), 2);
                            const double norm = std::sqrt(squares);
                            p -= 0.1 * (g * limit / std::max(norm, limit) + 0.5 * p);
                        },
                        {.clipping = ClipByNorm{limit}, .regularisation = L2Decay{0.5}});
    }
}

TEST(Clipping, ByGlobalNormScalesAllGradientsAlike) {
    Program program;
    const auto p = add_parameter(program, "p", {1}, DataType::float32);
    const auto q = add_parameter(program, "q", {2}, DataType::float32);
    const auto three = layers::scale(program, layers::reduce_sum(program, p), 3);
    const auto four = layers::scale(program, layers::reduce_sum(program, q), -4);
    minimize(program, layers::sum(program, {three, four}), Sgd{.learning_rate = 1},
             {.clipping = ClipByGlobalNorm{std::sqrt(41.0) / 2}});
    Interpreter interpreter(program);
    interpreter.run();  // the norm of (3, -4, -4) is sqrt(41): half of each is left
    EXPECT_THAT(interpreter.numbers(p), ElementsAre(testing::DoubleNear(-1.5, 1e-6)));
    EXPECT_THAT(interpreter.numbers(q), testing::Each(testing::DoubleNear(2, 1e-6)));
}

TEST(Clipping, HappensToAveragedGradients) {
    for (const Clipping& clipping :
         {Clipping(ClipByValue{}), Clipping(ClipByNorm{}), Clipping(ClipByGlobalNorm{})}) {
        Program program;
        const auto x = layers::data(program, "x", {4, 3});
        minimize(program, layers::mean(program, layers::fc(program, x, 2)), Sgd{},
                 {.clipping = clipping, .regularisation = L2Decay{0.1}});
        const auto parallel = data_parallel(program, {.ranks = 2});
        const auto& operators = parallel.operators();
        const auto start = std::ranges::find(operators, "allreduce_start", &Operator::type);
        const auto wait = std::ranges::find(operators, "allreduce_wait", &Operator::type);
        ASSERT_NE(start, operators.end());
        EXPECT_THAT(start->inputs, ElementsAre(Argument{"gradient", "fc_0.weight@grad"},
                                               Argument{"gradient", "fc_0.bias@grad"}));
        EXPECT_EQ(start->inputs, wait->inputs);
        EXPECT_EQ(std::ranges::count(operators, "allreduce_start", &Operator::type), 1);
        for (auto op = operators.begin(); op != operators.end(); ++op) {
            const auto is_clipping = op->type.starts_with("clip") || op->type == "global_norm_factor";
            EXPECT_TRUE(!is_clipping || op > wait) << op->type;
        }
    }
}

TEST(Clipping, RefusesLimitsThatCannotBe) {
    const auto refused = [](const OptimizerOptions& options) {
        return message_of<ProgramError>([&] { check_optimizer(Sgd{}, {}, options); });
    };
    EXPECT_THAT(refused({.clipping = ClipByNorm{0}}), HasSubstr("clipping: norm is 0"));
    EXPECT_THAT(refused({.clipping = ClipByGlobalNorm{-1}}), HasSubstr("clipping: norm is -1"));
    EXPECT_THAT(refused({.clipping = ClipByValue{1, -1}}), HasSubstr("clipping: min is 1"));
    EXPECT_THAT(refused({.regularisation = L2Decay{-0.1}}), HasSubstr("coefficient is -0.1"));
}

}  // namespace
}  // namespace dtrain
