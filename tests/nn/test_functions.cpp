// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: central differences of the functions' own values (finite_differences.hpp), and numbers worked out
// by hand.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/nn_images.hpp>

#include "finite_differences.hpp"
#include "support/message_of.hpp"

namespace dtrain::nn {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using tests::message_of;

TEST(Functions, GradientsOfOneArgument) {
    check_gradients([](const auto& p) { return relu(p[0]); }, {{3, 4}});
    check_gradients([](const auto& p) { return tanh(p[0]); }, {{3, 4}});
    check_gradients([](const auto& p) { return sigmoid(p[0]); }, {{3, 4}});
    check_gradients([](const auto& p) { return softmax(p[0]); }, {{3, 4}});
    check_gradients([](const auto& p) { return square(p[0]); }, {{3, 4}});
    check_gradients([](const auto& p) { return sqrt(square(p[0])); }, {{3, 4}});
    check_gradients([](const auto& p) { return scale(p[0], -1.5, 0.25); }, {{3, 4}});
    check_gradients([](const auto& p) { return mean(p[0]); }, {{3, 4}});
    check_gradients([](const auto& p) { return sum(p[0]); }, {{3, 4}});
    check_gradients([](const auto& p) { return reshape(p[0], {2, -1}); }, {{3, 4}});
    check_gradients([](const auto& p) { return flatten(p[0]); }, {{2, 2, 3}});
}

TEST(Functions, GradientsOfTwoAndThreeArguments) {
    check_gradients([](const auto& p) { return p[0] + p[1]; }, {{3, 2}, {3, 2}});
    check_gradients([](const auto& p) { return p[0] - p[1]; }, {{3, 2}, {3, 2}});
    check_gradients([](const auto& p) { return p[0] * p[1]; }, {{3, 2}, {3, 2}});
    check_gradients([](const auto& p) { return matmul(p[0], p[1]); }, {{3, 2}, {2, 4}});
    check_gradients([](const auto& p) { return p[0] / p[1]; }, {{3, 2}, {3, 2}});
    check_gradients([](const auto& p) { return matmul(p[0], p[1], true); }, {{3, 2}, {3, 4}});
    check_gradients([](const auto& p) { return matmul(p[0], p[1], false, true); }, {{3, 2}, {4, 2}});
    check_gradients([](const auto& p) { return linear(p[0], p[1], p[2]); }, {{3, 2}, {2, 4}, {4}});
    check_gradients([](const auto& p) { return mse_loss(p[0], p[1]); }, {{3, 2}, {3, 2}});
}

TEST(Functions, GradientOfCrossEntropy) {
    const auto labels = Tensor::of(std::vector<std::int64_t>{1, 0, 2}, {3});
    check_gradients([&](const auto& p) { return cross_entropy(p[0], labels); }, {{3, 3}});
    check_gradients(
        [&](const auto& p) { return cross_entropy(softmax(p[0]), labels, {.use_softmax = false}); },
        {{3, 3}});
}

TEST(Functions, GradientOfBinaryCrossEntropy) {
    const auto labels = Tensor::of(std::vector<double>{1, 0, 0.25, 1, 0, 0}, {3, 2});
    check_gradients([&](const auto& p) { return bce_with_logits(scale(p[0], 5), labels); }, {{3, 2}});
}

TEST(Functions, GradientsOfWhatIsPutTogetherAndTakenApart) {
    check_gradients([](const auto& p) { return concat({p[0], p[1], p[0]}, -1); }, {{3, 2}, {3, 1}});
    check_gradients(
        [](const auto& p) {
            return concat({p[0], Tensor::full({1, 2}, 3, DataType::float64)});
        },
        {{3, 2}});
    check_gradients(
        [](const auto& p) {
            const auto parts = split(p[0], {1, -1, 2}, 1);
            return concat({parts[2], square(parts[0])}, 1);  // the second has no gradient
        },
        {{2, 5}});
}

TEST(Functions, GradientsOfEmbedding) {
    const auto ids = Tensor::of(std::vector<std::int64_t>{4, 1, 1, 0, 4, 4}, {2, 3});
    check_gradients([&](const auto& p) { return embedding(ids, p[0]); }, {{5, 2}});
    check_gradients([&](const auto& p) { return embedding(ids, p[0], 1); }, {{5, 2}});
    check_gradients([&](const auto& p) { return embedding(ids, p[0], -1); }, {{5, 2}});  // row 4
    check_gradients([&](const auto& p) { return embedding(ids, tanh(p[0])); }, {{5, 2}});
}

TEST(Functions, GradientsOfLayerNorm) {
    check_gradients([](const auto& p) { return layer_norm(p[0], {4}, p[1], p[2]); }, {{2, 3, 4}, {4}, {4}});
    check_gradients(
        [](const auto& p) {
            return layer_norm(p[0], {3, 4}, p[1], p[2], 0.1);
        },
        {{2, 3, 4}, {12}, {12}});
}

TEST(Functions, GradientsOfImages) {
    check_gradients([](const auto& p) { return conv2d(p[0], p[1], p[2]); },
                    {{2, 2, 4, 5}, {3, 2, 2, 3}, {3}});
    check_gradients(
        [](const auto& p) {
            return conv2d(p[0], p[1], p[2], {2, 1}, {1, 2});
        },
        {{2, 2, 4, 5}, {3, 2, 2, 3}, {3}});
    check_gradients([](const auto& p) { return max_pool2d(p[0], 2); }, {{2, 2, 4, 5}});
    check_gradients([](const auto& p) { return max_pool2d(p[0], {3, 2}, {1, 2}, {1, 0}); }, {{2, 2, 4, 5}});
    check_gradients([](const auto& p) { return avg_pool2d(p[0], 2); }, {{2, 2, 4, 5}});
    check_gradients([](const auto& p) { return avg_pool2d(p[0], {3, 2}, {1, 2}, {1, 0}); }, {{2, 2, 4, 5}});
}

TEST(Functions, WhatIsUsedSeveralTimesGetsTheSumOfItsGradients) {
    check_gradients([](const auto& p) { return p[0] * p[0]; }, {{3, 2}});
    check_gradients([](const auto& p) { return matmul(tanh(p[0]), p[1]) + matmul(p[0], p[1]); },
                    {{2, 2}, {2, 2}});
    check_gradients(
        [](const auto& p) {
            const auto x = tanh(p[0] * p[1]);
            return x * x + x - p[0];
        },
        {{2, 3}, {2, 3}});
}

TEST(Functions, GradientsAddUpUntilTheyAreCleared) {
    const Parameter p("p", {2}, Initializer::constant(3));
    sum(square(p)).backward();
    EXPECT_THAT(p.gradient(), ElementsAre(6, 6));
    sum(p).backward();
    EXPECT_THAT(p.gradient(), ElementsAre(7, 7));
    p.zero_grad();
    EXPECT_FALSE(p.has_gradient());
    sum(p).backward();
    EXPECT_THAT(p.gradient(), ElementsAre(1, 1));
}

TEST(Functions, NoGradientGoesThroughDataDetachedOnesOrNoGrad) {
    const Parameter p("p", {2}, Initializer::constant(3));
    sum(p * Tensor(p).detach()).backward();
    EXPECT_THAT(p.gradient(), ElementsAre(3, 3));
    Tensor loss;
    {
        const NoGrad none;
        loss = sum(square(p));
    }
    EXPECT_FLOAT_EQ(loss.item(), 18);
    EXPECT_THROW(loss.backward(), NoGradientError);
}

TEST(Functions, LongChainsNeedNoStack) {
    const Parameter p("p", {1}, Initializer::constant(1));
    Tensor kept = p;
    for (int i = 0; i < 200'000; ++i) kept = kept + p;
    kept = Tensor();
    Tensor differentiated = p;
    for (int i = 0; i < 1000; ++i) differentiated = differentiated + p;
    differentiated.backward();
    EXPECT_THAT(p.gradient(), ElementsAre(1001));
}

TEST(Functions, Values) {
    const auto logits = Tensor::of(std::vector<float>{0, 0, 2, 1, 5, 1}, {3, 2});
    const auto labels = Tensor::of(std::vector<std::int64_t>{0, 1, 0}, {3, 1});  // as Paddle has them
    EXPECT_FLOAT_EQ(accuracy(logits, labels).item(), 2.0F / 3);
    EXPECT_NEAR(cross_entropy(logits, labels).item(),
                (std::log(2.0) + (1 + std::log1p(std::exp(-1.0))) + std::log1p(std::exp(-4.0))) / 3, 1e-6);
    EXPECT_THAT(reshape(logits, {2, 3}).values(), ElementsAre(0, 0, 2, 1, 5, 1));
    EXPECT_EQ(flatten(Tensor::full({2, 3, 4, 5}, 1), 1, 2).shape(), (Shape{2, 12, 5}));
    EXPECT_EQ(flatten(Tensor::full({2, 3, 4, 5}, 1)).shape(), (Shape{2, 60}));
    EXPECT_THAT((Tensor::full({2}, 3) - Tensor::full({2}, 1)).values(), ElementsAre(2, 2));
    EXPECT_THAT((Tensor::full({2}, 3) / Tensor::full({2}, 2)).values(), ElementsAre(1.5, 1.5));
    EXPECT_THAT(scale(sqrt(Tensor::full({2}, 9)), 2, 1).values(), ElementsAre(7, 7));
    EXPECT_THAT(matmul(logits, logits, true).values(), ElementsAre(29, 7, 7, 2));
    EXPECT_THAT(concat({logits, Tensor::full({3, 1}, 7)}, 1).values(),
                ElementsAre(0, 0, 7, 2, 1, 7, 5, 1, 7));
    const auto parts = split(logits, {1, -1});
    EXPECT_THAT(parts.at(0).values(), ElementsAre(0, 0));
    EXPECT_THAT(parts.at(1).values(), ElementsAre(2, 1, 5, 1));
    const auto probabilities = Tensor::of(std::vector<float>{0.5, 0.5, 0.75, 0.25}, {2, 2});
    EXPECT_NEAR(
        cross_entropy(probabilities, Tensor::of(std::vector<std::int64_t>{0, 1}, {2}), {.use_softmax = false})
            .item(),
        (std::log(2.0) + std::log(4.0)) / 2, 1e-6);
    EXPECT_NEAR(bce_with_logits(Tensor::of(std::vector<float>{0, 200}, {2}), Tensor::full({2}, 1)).item(),
                std::log(2.0) / 2, 1e-6);
}

TEST(Functions, ValuesOfEmbeddingAndLayerNorm) {
    const auto table = Tensor::of(std::vector<float>{0, 1, 10, 11, 20, 21}, {3, 2});
    const auto ids = Tensor::of(std::vector<std::int32_t>{2, 0, 2}, {3, 1});
    EXPECT_EQ(embedding(ids, table).shape(), (Shape{3, 1, 2}));
    EXPECT_THAT(embedding(ids, table).values(), ElementsAre(20, 21, 0, 1, 20, 21));
    EXPECT_THAT(embedding(ids, table, -1).values(), ElementsAre(0, 0, 0, 1, 0, 0));
    // Mean 3 and variance 4.
    const auto normal = layer_norm(Tensor::of(std::vector<float>{1, 5}, {1, 2}), {2}, Tensor::full({2}, 3),
                                   Tensor::full({2}, 1), 0);
    EXPECT_THAT(normal.values(), ElementsAre(FloatEq(-2), FloatEq(4)));
}

TEST(Functions, ValuesOfImages) {
    std::vector<float> counted(12);
    for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<float>(i);
    const auto x = Tensor::of(counted, {1, 1, 3, 4});  // 0 1 2 3, 4 5 6 7, 8 9 10 11
    EXPECT_THAT(conv2d(x, Tensor::full({1, 1, 2, 2}, 1), Tensor::full({1}, 0.5)).values(),
                ElementsAre(10.5, 14.5, 18.5, 26.5, 30.5, 34.5));
    EXPECT_THAT(conv2d(x, Tensor::full({1, 1, 2, 2}, 1), Tensor::full({1}, 0), 2, 1).values(),
                ElementsAre(0, 3, 3, 12, 30, 18));
    EXPECT_THAT(max_pool2d(x, 2).values(), ElementsAre(5, 7));
    EXPECT_THAT(avg_pool2d(x, 2).values(), ElementsAre(2.5, 4.5));
    EXPECT_THAT(avg_pool2d(x, 2, 2, 1).values(),
                ElementsAre(0, 1.5, 3, 6, 7.5, 9));  // outside counts nothing
    EXPECT_EQ(max_pool2d(x, 2, 1).shape(), (Shape{1, 1, 2, 3}));
}

TEST(Functions, Casts) {
    const auto numbers = Tensor::of(std::vector<float>{3, -2.75, 16777216}, {3});
    EXPECT_THAT(cast(numbers, DataType::int64).values<std::int64_t>(), ElementsAre(3, -2, 16777216));
    EXPECT_THAT(cast(numbers, DataType::float64).values<double>(), ElementsAre(3, -2.75, 16777216));
    EXPECT_THAT(message_of<UsageError>([] { cast(Tensor::full({1}, 3e9), DataType::int32); }),
                HasSubstr("3000000000 is no number of type int32"));
    EXPECT_THROW(cast(Tensor::full({1}, std::nan("")), DataType::int64), UsageError);
    EXPECT_THROW(cast(Tensor::full({1}, 9.3e18), DataType::int64), UsageError);
    const Parameter p("p", {2});
    EXPECT_THAT(message_of<UsageError>([&] { cast(p, DataType::float64); }), HasSubstr("detach()"));
    EXPECT_EQ(cast(Tensor(p).detach(), DataType::float64).type(), DataType::float64);
}

TEST(Functions, NormalNumbersFollowFromSeedAndStream) {
    const auto numbers = [](std::uint64_t with, std::uint64_t stream) {
        seed(with);
        const auto made = randn({10'000}, stream);
        return std::vector<float>(made.values().begin(), made.values().end());
    };
    const auto first = numbers(5, 0);
    EXPECT_EQ(first, numbers(5, 0));
    EXPECT_NE(first, numbers(5, 1));
    EXPECT_NE(first, numbers(6, 0));
    double total = 0;
    double squares = 0;
    for (const auto each : first) {
        total += each;
        squares += each * each;
    }
    // Five standard deviations of a mean and of a variance of so many.
    EXPECT_NEAR(total / 10'000, 0, 0.05);
    EXPECT_NEAR(squares / 10'000, 1, 5 * std::sqrt(2.0 / 10'000));
    seed(5);
    const auto one = randn({3});
    const auto two = randn({3});
    EXPECT_NE(one.values()[0], two.values()[0]);
    EXPECT_THROW(randn({3}, 0, DataType::int64), UsageError);
}

}  // namespace
}  // namespace dtrain::nn
