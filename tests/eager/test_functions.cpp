// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: central differences of the functions' own values in double, (f(p + h) - f(p - h)) / 2h with h =
// 1e-5, which leaves about nine digits; and numbers worked out by hand.
#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/nn_tensor.hpp>

#include "support/message_of.hpp"

namespace dtrain::nn {
namespace {

using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using tests::message_of;

using Function = std::function<Tensor(const std::vector<Parameter>& parameters)>;

Parameter filled(const std::string& name, const Shape& shape, double phase) {
    Parameter parameter(name, shape, {}, DataType::float64);
    auto angle = phase;
    for (auto& value : parameter.values<double>()) value = 0.9 * std::sin(angle += 2.3);
    return parameter;
}

// Sum of the result times weights, a different one for each element.
Tensor weighed(const Tensor& x) {
    std::vector<double> weights;
    for (std::int64_t i = 0; i < element_count(x.shape()); ++i)
        weights.push_back(0.3 + std::cos(static_cast<double>(i)));
    return sum(x * Tensor::of(weights, x.shape()));
}

void check(const Function& function, const std::vector<Shape>& shapes) {
    std::vector<Parameter> parameters;
    for (std::size_t i = 0; i < shapes.size(); ++i)
        parameters.push_back(filled("p" + std::to_string(i), shapes[i], 0.7 * static_cast<double>(i + 1)));
    const auto loss = [&] { return weighed(function(parameters)); };
    loss().backward();
    double largest = 0;
    for (const auto& parameter : parameters) {
        ASSERT_TRUE(parameter.has_gradient()) << parameter.name();
        for (std::size_t i = 0; i < parameter.values<double>().size(); ++i) {
            const double h = 1e-5;
            auto& value = parameter.values<double>()[i];
            const auto before = value;
            value = before + h;
            const auto above = loss().item<double>();
            value = before - h;
            const auto below = loss().item<double>();
            value = before;
            const auto slope = (above - below) / (2 * h);
            ASSERT_NEAR(parameter.gradient<double>()[i], slope, 2e-8) << parameter.name() << "[" << i << "]";
            largest = std::max(largest, std::fabs(slope));
        }
    }
    EXPECT_GT(largest, 0.02) << "gradients that are all nearly zero prove nothing";
}

TEST(Functions, GradientsOfOneArgument) {
    check([](const auto& p) { return relu(p[0]); }, {{3, 4}});
    check([](const auto& p) { return tanh(p[0]); }, {{3, 4}});
    check([](const auto& p) { return sigmoid(p[0]); }, {{3, 4}});
    check([](const auto& p) { return softmax(p[0]); }, {{3, 4}});
    check([](const auto& p) { return square(p[0]); }, {{3, 4}});
    check([](const auto& p) { return mean(p[0]); }, {{3, 4}});
    check([](const auto& p) { return sum(p[0]); }, {{3, 4}});
    check([](const auto& p) { return reshape(p[0], {2, -1}); }, {{3, 4}});
    check([](const auto& p) { return flatten(p[0]); }, {{2, 2, 3}});
}

TEST(Functions, GradientsOfTwoAndThreeArguments) {
    check([](const auto& p) { return p[0] + p[1]; }, {{3, 2}, {3, 2}});
    check([](const auto& p) { return p[0] - p[1]; }, {{3, 2}, {3, 2}});
    check([](const auto& p) { return p[0] * p[1]; }, {{3, 2}, {3, 2}});
    check([](const auto& p) { return matmul(p[0], p[1]); }, {{3, 2}, {2, 4}});
    check([](const auto& p) { return linear(p[0], p[1], p[2]); }, {{3, 2}, {2, 4}, {4}});
    check([](const auto& p) { return mse_loss(p[0], p[1]); }, {{3, 2}, {3, 2}});
}

TEST(Functions, GradientOfCrossEntropy) {
    const auto labels = Tensor::of(std::vector<std::int64_t>{1, 0, 2}, {3});
    check([&](const auto& p) { return cross_entropy(p[0], labels); }, {{3, 3}});
}

TEST(Functions, WhatIsUsedSeveralTimesGetsTheSumOfItsGradients) {
    check([](const auto& p) { return p[0] * p[0]; }, {{3, 2}});
    check([](const auto& p) { return matmul(tanh(p[0]), p[1]) + matmul(p[0], p[1]); }, {{2, 2}, {2, 2}});
    check(
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
    p.clear_gradient();
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

TEST(Refusals, NameOperatorAndShapes) {
    const auto x = Tensor::full({3, 5}, 1);
    const Parameter weight("fc_0.weight", {4, 2});
    const Parameter bias("fc_0.bias", {2});
    const auto message = message_of<ProgramError>([&] { linear(x, weight, bias); });
    EXPECT_EQ(message, "operator fc: weight 'fc_0.weight' is float32 [4, 2], expected float32 [5, any]");
    EXPECT_THAT(message_of<ProgramError>([&] {
                    x + Tensor::full({5, 3}, 1);
                }),
                testing::AllOf(HasSubstr("operator sum"), HasSubstr("[5, 3]"), HasSubstr("[3, 5]")));
    EXPECT_THAT(message_of<ProgramError>([&] { cross_entropy(x, Tensor::full({2}, 0, DataType::int64)); }),
                testing::AllOf(HasSubstr("operator softmax_with_cross_entropy"), HasSubstr("int64 [2]"),
                               HasSubstr("int64 [3]")));
    EXPECT_THAT(message_of<ProgramError>([&] { cross_entropy(x, Tensor::full({3}, 0)); }),
                HasSubstr("float32 [3], expected int64 [3]"));
    EXPECT_THAT(message_of<Error>([&] { cross_entropy(x, Tensor::full({3}, 7, DataType::int64)); }),
                HasSubstr("7"));
    EXPECT_THAT(message_of<ProgramError>([&] { reshape(x, {4, -1}); }), HasSubstr("operator reshape"));
    EXPECT_EQ(message_of<ProgramError>([&] { flatten(x, 2); }),
              "flatten: start is axis 2, and the tensor is float32 [3, 5]");
    EXPECT_THROW(flatten(x, 1, 0), ProgramError);
    EXPECT_THAT(message_of<UsageError>([] {
                    Tensor::of(std::vector<float>{1, 2}, {3});
                }),
                HasSubstr("shape [3] has 3 elements, but 2 values"));
    EXPECT_THROW(Tensor::full({0, 3}, 1), ProgramError);
    EXPECT_THROW(x.values<double>(), Error);
    EXPECT_THROW(Parameter("p", {2}, {}, DataType::int64), ProgramError);
}

TEST(Refusals, OfBackward) {
    const Parameter p("p", {2, 3});
    const auto x = square(p);
    try {
        x.backward();
        FAIL() << "six numbers have no gradient";
    } catch (const NotScalarError& error) {
        EXPECT_EQ(error.shape(), (Shape{2, 3}));
        EXPECT_STREQ(
            error.what(),
            "backward(): the tensor is float32 [2, 3], expected one element; take the mean, or a loss");
    }
    EXPECT_FALSE(p.has_gradient());
    EXPECT_THROW(Tensor::full({1}, 1).backward(), NoGradientError);
    EXPECT_THAT(message_of<NoGradientError>([&] { p.gradient(); }), HasSubstr("'p' has no gradient"));

    const auto loss = mean(x);
    loss.backward();
    EXPECT_THROW(loss.backward(), SpentGraphError);
    EXPECT_THAT(message_of<SpentGraphError>([&] { sum(x).backward(); }), HasSubstr("operator square"));
    EXPECT_FLOAT_EQ(loss.item(), 0);

    const auto labels = Tensor::full({2}, 0, DataType::int64);
    EXPECT_THROW(accuracy(p, labels).backward(), NoGradientError);
}

TEST(Refusals, OfWhatIsEmpty) {
    Tensor moved = Tensor::full({2}, 1);
    const auto taken = std::move(moved);
    EXPECT_THROW(moved.shape(), EmptyError);  // NOLINT(bugprone-use-after-move)
    EXPECT_THROW(relu(moved), EmptyError);    // NOLINT(bugprone-use-after-move)
    EXPECT_THROW(Tensor().backward(), EmptyError);
    EXPECT_THROW(Parameter().values(), EmptyError);
    EXPECT_THROW(relu(Parameter()), EmptyError);
}

}  // namespace
}  // namespace dtrain::nn
