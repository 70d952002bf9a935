// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the formulas of the schedules, written down here once more as plain functions of the step.
#include <cmath>
#include <functional>
#include <numbers>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>

#include "program/schemas/check_gradients.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

void check_schedule(const LearningRateSchedule& schedule, const std::function<double(int t)>& formula) {
    Program program;
    const auto rate = append_learning_rate(program, schedule);
    Interpreter interpreter(program);
    for (int t = 0; t < 30; ++t) {
        interpreter.run();
        EXPECT_NEAR(interpreter.numbers(rate)[0], formula(t), 1e-7 * std::fabs(formula(t)) + 1e-12) << t;
    }
    EXPECT_EQ(interpreter.numbers("learning_rate.step")[0], 30);
}

TEST(LearningRate, FollowsItsFormula) {
    check_schedule({ConstantRate{0.3}}, [](int) { return 0.3; });
    check_schedule({ExponentialDecay{0.3, 7, 0.5}}, [](int t) { return 0.3 * std::pow(0.5, t / 7.0); });
    check_schedule({ExponentialDecay{0.3, 7, 0.5, true}}, [](int t) { return 0.3 * std::pow(0.5, t / 7); });
    check_schedule({NaturalExpDecay{0.3, 7, 0.5}}, [](int t) { return 0.3 * std::exp(-0.5 * t / 7.0); });
    check_schedule({NaturalExpDecay{0.3, 7, 0.5, true}},
                   [](int t) { return 0.3 * std::exp(-0.5 * (t / 7)); });
    check_schedule({InverseTimeDecay{0.3, 7, 0.5}}, [](int t) { return 0.3 / (1 + 0.5 * t / 7.0); });
    check_schedule({InverseTimeDecay{0.3, 7, 0.5, true}}, [](int t) { return 0.3 / (1 + 0.5 * (t / 7)); });
    check_schedule({PolynomialDecay{0.3, 11, 0.01, 2}}, [](int t) {
        const double left = t < 11 ? 1 - t / 11.0 : 0;
        return 0.29 * left * left + 0.01;
    });
    check_schedule({PolynomialDecay{0.3, 11, 0.01, 2, true}}, [](int t) {
        const int length = t <= 11 ? 11 : t <= 22 ? 22 : 33;
        return 0.29 * std::pow(1 - static_cast<double>(t) / length, 2) + 0.01;
    });
    check_schedule({PiecewiseRate{{3, 20}, {1, 0.1, 0.01}}}, [](int t) {
        return t < 3 ? 1 : t < 20 ? 0.1 : 0.01;
    });
    check_schedule({CosineDecay{0.3, 4, 10}},
                   [](int t) { return 0.15 * (std::cos(std::numbers::pi * (t / 4) / 10) + 1); });
    check_schedule({NoamDecay{2, 16, 5}}, [](int t) {
        const double n = t + 1;
        return 2 * std::pow(16, -0.5) * std::min(std::pow(n, -0.5), n * std::pow(5, -1.5));
    });
    check_schedule({ExponentialDecay{0.3, 7, 0.5}, LinearWarmup{5, 0.1, 0.4}},
                   [](int t) { return t < 5 ? 0.1 + 0.3 * t / 5 : 0.3 * std::pow(0.5, t / 7.0); });
}

TEST(LearningRate, IsWhatUpdatesUse) {
    const std::vector<Optimizer> optimizers{Sgd{.learning_rate = 77},     Momentum{.learning_rate = 77},
                                            Adam{.learning_rate = 77},    AdamW{.learning_rate = 77},
                                            Adagrad{.learning_rate = 77}, Ftrl{.learning_rate = 77}};
    const std::vector<Optimizer> with_the_rate{
        Sgd{.learning_rate = 0.25},   Momentum{.learning_rate = 0.25}, Adam{.learning_rate = 0.25},
        AdamW{.learning_rate = 0.25}, Adagrad{.learning_rate = 0.25},  Ftrl{.learning_rate = 0.25}};
    const auto trained = [](const Optimizer& optimizer, const OptimizerOptions& options) {
        Program program;
        const auto p = add_parameter(program, "p", {5}, DataType::float32);
        minimize(program, weigh(program, layers::square(program, p)), optimizer, options);
        Interpreter interpreter(program);
        feed_numbers(program, interpreter);
        for (int step = 0; step < 3; ++step) interpreter.run();
        return interpreter.numbers(p);
    };
    for (std::size_t i = 0; i < optimizers.size(); ++i) {
        const auto scheduled = trained(optimizers[i], {.schedule = {{ConstantRate{0.25}}}});
        EXPECT_EQ(scheduled, trained(with_the_rate[i], {})) << i;
        EXPECT_NE(scheduled, trained(optimizers[i], {.schedule = {{ExponentialDecay{0.25, 1, 0.5}}}})) << i;
        EXPECT_EQ(trained(optimizers[i], {.schedule = {{ConstantRate{0}}}}).size(), 5U);
    }
}

TEST(LearningRate, GoesOnFromTheState) {
    Program program;
    const auto rate =
        append_learning_rate(program, {CosineDecay{0.3, 3, 10}, LinearWarmup{.steps = 4, .end = 0.3}});
    Interpreter whole(program);
    for (int t = 0; t < 12; ++t) whole.run();
    Interpreter first(program);
    for (int t = 0; t < 7; ++t) first.run();
    Interpreter second(program, first.state().clone());
    for (int t = 7; t < 12; ++t) second.run();
    EXPECT_EQ(second.numbers(rate), whole.numbers(rate));
}

TEST(LearningRate, RefusesSettingsThatCannotBe) {
    const auto refused = [](const LearningRateSchedule& schedule) {
        Program program;
        const auto message = message_of<ProgramError>([&] { append_learning_rate(program, schedule); });
        EXPECT_EQ(program, Program());
        return message;
    };
    EXPECT_THAT(refused({ExponentialDecay{.decay_steps = 0}}), HasSubstr("decay_steps is 0"));
    EXPECT_THAT(refused({ConstantRate{-1}}), HasSubstr("learning_rate is -1"));
    EXPECT_THAT(refused({PiecewiseRate{{5, 5}, {1, 2, 3}}}), HasSubstr("boundaries are [5, 5]"));
    EXPECT_THAT(refused({PiecewiseRate{{5}, {1}}}),
                HasSubstr("attribute values is [1], expected one value more than boundaries"));
    EXPECT_THAT(refused({NoamDecay{.warmup_steps = 0}}), HasSubstr("warmup_steps is 0"));
    EXPECT_THAT(refused({ConstantRate{}, LinearWarmup{.steps = 0}}), HasSubstr("warmup steps is 0"));
    Program program;
    append_learning_rate(program, {});
    EXPECT_THAT(message_of<ProgramError>([&] { append_learning_rate(program, {}); }),
                HasSubstr("'learning_rate.step'"));
}

}  // namespace
}  // namespace dtrain
