// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: updates worked out by hand; what a loop keeps is counted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/nn.hpp>

#include "digit_like.hpp"
#include "networks.hpp"
#include "nn/eager_device.hpp"
#include "nn/run_operator.hpp"
#include "support/message_of.hpp"

namespace dtrain::nn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

TEST(OptimizerSteps, UpdateWhatHasAGradient) {
    const Parameter used("used", {2}, Initializer::constant(1));
    const Parameter unused("unused", {1}, Initializer::constant(5));
    Optimizer sgd(Momentum{.learning_rate = 0.5, .mu = 0.5}, {used, unused});
    sum(square(used)).backward();
    sgd.step();  // v = 2, p = 1 - 0.5 * 2
    EXPECT_THAT(used.values(), ElementsAre(0, 0));
    sgd.zero_grad();
    EXPECT_FALSE(used.has_gradient());
    sum(unused).backward();
    sgd.step();  // the other's velocity is not used
    EXPECT_THAT(used.values(), ElementsAre(0, 0));
    EXPECT_THAT(unused.values(), ElementsAre(4.5));
    sgd.zero_grad();
    (sum(used) + unused).backward();
    sgd.step();  // v = 0.5 * 2 + 1 = 2, and 0.5 * 1 + 1 = 1.5
    EXPECT_THAT(used.values(), ElementsAre(-1, -1));
    EXPECT_THAT(unused.values(), ElementsAre(3.75));
}

class WithAPlainMember : public Layer {
  public:
    Tensor forward(const Tensor& x) override { return plain_(added_(x)); }

  private:
    Linear& added_ = add<Linear>(2, 2, LinearOptions{.name = "added"});
    Linear plain_{2, 1, {.name = "plain"}};
};

std::string warning_of_step(Layer& network, Optimizer& optimizer) {
    mean(network(randn({4, 2}))).backward();
    testing::internal::CaptureStderr();
    optimizer.step();
    return testing::internal::GetCapturedStderr();
}

TEST(OptimizerSteps, SayOnceWhichParametersAreInNoParameters) {
    WithAPlainMember network;
    Optimizer sgd(Sgd{0.1}, network.parameters());
    EXPECT_EQ(
        warning_of_step(network, sgd),
        "dtrain: 'plain.bias', 'plain.weight' computed, and no parameters() and no optimizer has them: "
        "they are never trained. Make the layers of a network by add(): C++ does not find plain members\n");
    EXPECT_EQ(warning_of_step(network, sgd), "");
}

TEST(OptimizerSteps, SayNothingOfWhatAnybodyHas) {
    Sequential trained{Linear(2, 2)};
    Sequential frozen{Linear(2, 2)};
    const auto listed = frozen.parameters();  // and trained by nobody
    const Parameter own("own", {2});
    Optimizer of_one(Sgd{0.1}, {own});
    Optimizer sgd(Sgd{0.1}, trained.parameters());
    (mean(frozen(trained(randn({4, 2})))) + mean(own)).backward();
    testing::internal::CaptureStderr();
    sgd.step();
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(OptimizerSteps, NameAFewOfManyParametersInNoParameters) {
    WithAPlainMember network;
    Optimizer sgd(Sgd{0.1}, network.parameters());
    const Linear a(2, 2, {.name = "a"}), b(2, 2, {.name = "b"});
    const auto x = randn({4, 2});
    (mean(linear(x, a.weight(), a.bias())) + mean(linear(x, b.weight(), b.bias()))).backward();
    EXPECT_THAT(warning_of_step(network, sgd),
                HasSubstr("dtrain: 'a.bias', 'a.weight', 'b.bias', 'b.weight' and 2 more computed"));
}

TEST(OptimizerSteps, WithoutClearGradGradientsAddUp) {
    const Parameter p("p", {1}, Initializer::constant(0));
    Optimizer sgd(Sgd{1}, {p});
    sum(p).backward();
    sgd.step();
    sum(p).backward();
    sgd.step();
    EXPECT_THAT(p.values(), ElementsAre(-3));
}

TEST(OptimizerSteps, BetweenForwardAndBackwardAreNoticed) {
    const Parameter p("p", {1}, Initializer::constant(3));
    Optimizer sgd(Sgd{1}, {p});
    const auto early = square(p);  // its gradient needs p
    const auto linear = p + p;     // this one does not
    square(p).backward();
    sgd.step();
    try {
        early.backward();
        FAIL() << "2 p is another number now";
    } catch (const ChangedParameterError& error) {
        EXPECT_EQ(error.parameter(), "p");
        EXPECT_STREQ(error.what(),
                     "backward(): parameter 'p' was changed after the operator square had used it; "
                     "call step() and set_values() behind backward()");
    }
    sgd.zero_grad();
    linear.backward();
    EXPECT_THAT(p.gradient(), ElementsAre(2));
}

TEST(SetValues, ChangesThemAndIsNoticed) {
    const Parameter p("p", {2}, Initializer::constant(3));
    const auto early = sum(square(p));
    const auto linear = sum(p + p);
    p.set_values(std::vector<float>{4, 5});
    EXPECT_THAT(p.values(), ElementsAre(4, 5));
    EXPECT_THAT(message_of<ChangedParameterError>([&] { early.backward(); }),
                HasSubstr("parameter 'p' was changed after the operator square"));
    EXPECT_FALSE(p.has_gradient());
    linear.backward();  // needs no values
    sum(square(p)).backward();
    EXPECT_THAT(p.gradient(), ElementsAre(2 + 8, 2 + 10));
    EXPECT_EQ(message_of([&] { p.set_values(std::vector<float>{1}); }),
              "set_values(): parameter 'p' is float32 [2], which are 2 values, but 1 of float32 were given");
    EXPECT_THAT(message_of([&] {
                    p.set_values(std::vector<double>{1, 2});
                }),
                HasSubstr("but 2 of float64 were given"));
    EXPECT_THAT(p.values(), ElementsAre(4, 5));
    EXPECT_THROW(Parameter().set_values(std::vector<float>{1}), EmptyError);
}

TEST(OptimizerSteps, Refusals) {
    const Parameter p("p", {1});
    Optimizer sgd(Sgd{1}, {p});
    EXPECT_EQ(message_of<NoGradientError>([&] { sgd.step(); }),
              "step(): none of the 1 parameters has a gradient; call backward() of a loss before");
    EXPECT_THROW(Optimizer(Sgd{1}, {}), UsageError);
    EXPECT_THAT(message_of<ProgramError>([&] {
                    Optimizer(Sgd{1}, {p, Parameter("p", {2})});
                }),
                HasSubstr("'p'"));
    EXPECT_THROW(Optimizer(Sgd{-1}, {p}), ProgramError);
    EXPECT_THROW(Optimizer(Sgd{1}, {Parameter()}), EmptyError);
    Parameter moved = p;
    const auto taken = std::move(moved);
    EXPECT_THROW(moved.values(), EmptyError);  // NOLINT(bugprone-use-after-move)
}

void expect_to_keep_no_more(Layer& network, const Dataset& data, const Shape& sample) {
    const DataLoader loader(data, {.batch_size = 20, .shuffle = true, .sample = sample});
    Optimizer adam(Adam{}, network.parameters());
    const auto epoch = [&](std::int64_t number) {
        for (const auto& [id, x, y] : loader(number)) {
            const auto predicts = network(x);
            const auto loss = cross_entropy(predicts, y);
            loss.backward();
            adam.step();
            adam.zero_grad();
        }
        const NoGrad none;
        network.eval();
        for (const auto& [id, x, y] : loader(0)) accuracy(network(x), y);
        network.train();
    };
    epoch(0);
    epoch(1);
    const auto bytes = eager::own_device().bytes();
    const auto kernels = eager::kernels_prepared();
    for (std::int64_t number = 2; number < 20; ++number) epoch(number);
    EXPECT_EQ(eager::own_device().bytes(), bytes);
    EXPECT_EQ(eager::kernels_prepared(), kernels);
}

TEST(Loops, KeepNoMoreMemoryAndPrepareNothingAnew) {
    seed(1);
    Sequential network{Linear(16, 64), ReLU(), Dropout(0.5), Linear(64, 64), Sigmoid(), Linear(64, 4)};
    expect_to_keep_no_more(network, digit_like(90), {});
    auto images = image_network();
    expect_to_keep_no_more(images, digit_like(90, 64), {1, 8, 8});
    WordNetwork words;
    expect_to_keep_no_more(words, word_like(90), {});
}

TEST(Loops, ForwardPassesWithoutBackwardGiveTheirMemoryBack) {
    const Parameter p("p", {1000}, Initializer::constant(1));
    for (int i = 0; i < 3; ++i) tanh(square(p));
    const auto bytes = eager::own_device().bytes();
    for (int i = 0; i < 1000; ++i) tanh(square(p));
    EXPECT_EQ(eager::own_device().bytes(), bytes);
}

TEST(Loops, BatchesOfEverySizeKeepBoundedMemory) {
    Sequential network{Linear(16, 8), Tanh()};
    for (std::int64_t rows = 1; rows <= 600; ++rows) mean(network(Tensor::full({rows, 16}, 1))).backward();
    // The largest of each size: a geometric row, a few tensors of each.
    EXPECT_LT(eager::own_device().bytes(), 64U << 20U);
}

}  // namespace
}  // namespace dtrain::nn
