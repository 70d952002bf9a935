// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the formula of layer normalisation in double precision; central differences; and for dropout what a
// binomial distribution allows and the equality of batches that are cut in other ways.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "program/schemas/check_gradients.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using tests::message_of;

TEST(LayerNorm, FollowsItsFormula) {
    for (const auto type : {DataType::float32, DataType::float64}) {
        Program program;
        const auto x = layers::data(program, "x", {3, 5, 7}, type);
        const auto out = layers::layer_norm(program, x, {.axis = 1, .epsilon = 0.01, .name = "norm"});
        EXPECT_EQ(program.variable("norm.scale").shape, (Shape{35}));
        Interpreter interpreter(program);
        EXPECT_THAT(interpreter.numbers("norm.scale"), testing::Each(1.0));
        feed_numbers(program, interpreter);
        interpreter.run();
        const auto in = interpreter.numbers(x);
        const auto scale = interpreter.numbers("norm.scale");
        const auto bias = interpreter.numbers("norm.bias");
        for (std::size_t row = 0; row < 3; ++row) {
            double mean = 0;
            for (std::size_t i = 0; i < 35; ++i) mean += in[row * 35 + i] / 35;
            double variance = 0;
            for (std::size_t i = 0; i < 35; ++i) variance += std::pow(in[row * 35 + i] - mean, 2) / 35;
            for (std::size_t i = 0; i < 35; ++i)
                EXPECT_NEAR(interpreter.numbers(out)[row * 35 + i],
                            (in[row * 35 + i] - mean) / std::sqrt(variance + 0.01) * scale[i] + bias[i],
                            2e-6);
        }
    }
}

TEST(LayerNorm, Gradients) {
    for (const std::int64_t axis : {1, 2}) {
        check_gradients([&](Program& program, DataType type) {
            return weigh(program, layers::layer_norm(program, add_parameter(program, "p", {2, 3, 4}, type),
                                                     {.axis = axis}));
        });
    }
    check_gradients([&](Program& program, DataType type) {
        return weigh(program, layers::layer_norm(program, layers::data(program, "x", {3, 4}, type)));
    });
}

TEST(LayerNorm, RefusesAnAxisThatIsNotThere) {
    Program program;
    const auto x = layers::data(program, "x", {3, 5});
    EXPECT_EQ(message_of<ProgramError>([&] { layers::layer_norm(program, x, {.axis = 2}); }),
              "operator layer_norm: attribute axis is 2, expected one of x's 2 axes behind the first");
}

// What a dropout of ones leaves, of `rows` rows from `first` on, in the given step.
std::vector<double> left_of_ones(std::int64_t rows, std::int64_t first, std::int64_t step, double probability,
                                 std::int64_t seed = 0, int before = 0) {
    Program program;
    const auto x = layers::data(program, "x", {rows, 7});
    const auto row = layers::data(program, "row", {1}, DataType::int64);
    for (int i = 0; i < before; ++i) layers::dropout(program, x, probability, {.seed = seed});
    const auto out = layers::dropout(program, x, probability, {.seed = seed, .first_row = row});
    Interpreter interpreter(program);
    std::ranges::fill(interpreter.values(x), 1.0F);
    interpreter.set(row, 0, static_cast<double>(first));
    interpreter.set("dropout.step", 0, static_cast<double>(step));
    interpreter.run();
    return interpreter.numbers(out);
}

TEST(Dropout, DropsWithItsProbabilityAndKeepsTheMean) {
    for (const double probability : {0.0, 0.1, 0.5, 0.9}) {
        const auto left = left_of_ones(3000, 0, 5, probability);
        const auto count = static_cast<double>(left.size());
        double dropped = 0;
        for (const auto value : left) {
            if (value == 0)
                ++dropped;
            else
                EXPECT_NEAR(value, 1 / (1 - probability), 1e-5);
        }
        const double deviation = std::sqrt(count * probability * (1 - probability));
        EXPECT_NEAR(dropped, count * probability, 5 * deviation);
    }
}

TEST(Dropout, DependsOnSeedLayerStepAndPositionAlone) {
    const auto whole = left_of_ones(12, 0, 3, 0.5);
    EXPECT_EQ(whole, left_of_ones(12, 0, 3, 0.5)) << "a repeated run";
    for (const std::int64_t rows : {1, 3, 4}) {
        std::vector<double> parts;
        for (std::int64_t first = 0; first < 12; first += rows)
            std::ranges::copy(left_of_ones(rows, first, 3, 0.5), std::back_inserter(parts));
        EXPECT_EQ(parts, whole) << "batches of " << rows;
    }
    EXPECT_NE(whole, left_of_ones(12, 0, 4, 0.5)) << "another step";
    EXPECT_NE(whole, left_of_ones(12, 0, 3, 0.5, 1)) << "another seed";
    EXPECT_NE(whole, left_of_ones(12, 0, 3, 0.5, 0, 1)) << "the second dropout of a program";
    EXPECT_NE(whole, left_of_ones(12, 12, 3, 0.5)) << "other rows";
}

TEST(Dropout, Gradients) {
    check_gradients([](Program& program, DataType type) {
        const auto p = add_parameter(program, "p", {3, 6}, type);
        const auto row = layers::data(program, "row", {1}, DataType::int64);
        return weigh(program, layers::dropout(program, layers::tanh(program, p), 0.3, {.first_row = row}));
    });
}

TEST(Dropout, CountsUpdatesAndRestsInTests) {
    Program program;
    const auto p = add_parameter(program, "p", {1, 400}, DataType::float32);
    const auto out = layers::dropout(program, p, 0.5);
    const auto loss = layers::reduce_sum(program, out);
    const auto before = for_test(program, {out});
    minimize(program, loss, Sgd{.learning_rate = 0});
    const State state(program, 1);
    std::ranges::fill(state.find("p")->view.as<float>(), 1.0F);
    Executor training(program, state);
    training.run();
    const std::vector<float> first(training.fetch(out).begin(), training.fetch(out).end());
    const std::vector<float> gradient(training.fetch("p@grad").begin(), training.fetch("p@grad").end());
    EXPECT_EQ(gradient, first) << "with ones for x and for its gradient";
    training.run();
    EXPECT_NE(first, std::vector<float>(training.fetch(out).begin(), training.fetch(out).end()));
    EXPECT_EQ(state.find("dropout.step")->view.as<std::int64_t>()[0], 2);
    training.accumulate();
    training.accumulate();
    EXPECT_EQ(state.find("dropout.step")->view.as<std::int64_t>()[0], 2) << "batches of one update";
    training.update();
    EXPECT_EQ(state.find("dropout.step")->view.as<std::int64_t>()[0], 3);

    const auto tested = for_test(program, {out});
    EXPECT_EQ(tested, before);
    EXPECT_FALSE(tested.has("dropout.step"));
    Executor tester(tested, state);
    tester.run();
    EXPECT_THAT(tester.fetch(out), testing::Each(1.0F));
}

TEST(Dropout, RefusesProbabilitiesThatLeaveNothing) {
    Program program;
    const auto x = layers::data(program, "x", {3, 5});
    EXPECT_EQ(message_of<ProgramError>([&] { layers::dropout(program, x, 1); }),
              "operator dropout: attribute probability is 1, expected at least 0 and below 1");
    EXPECT_EQ(message_of<ProgramError>([&] { layers::dropout(program, x, 0.5, {.first_row = x}); }),
              "operator dropout: first_row 'x' is float32 [3, 5], expected int64 [1]");
}

}  // namespace
}  // namespace dtrain
