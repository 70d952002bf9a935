// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the same training without scaling, bit by bit: powers of two round nothing.
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/loss_scale.hpp"
#include "program/optim/scaled_training.hpp"
#include "support/message_of.hpp"
#include "support/on_gpu.hpp"

namespace dtrain {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

class LossScalingOf : public testing::TestWithParam<TrainedNetwork> {
  protected:
    TrainedNetwork network = GetParam();
    Program plain = built(network);
};

TEST_P(LossScalingOf, ChangesNoBit) {
    const auto expected = trained(network, plain);
    expect_same_bits(trained(network, with_loss_scaling(plain)), expected);
    const auto growing = trained(network, with_loss_scaling(plain, {.first = 1024, .growth_steps = 5}));
    expect_same_bits(growing, expected);
    EXPECT_EQ(scale_of(growing), 16 * 1024);
    EXPECT_EQ(good_steps_of(growing), 4);
    expect_same_bits(trained(network, with_loss_scaling(plain), {.memory_optimize = true}), expected);
    expect_same_bits(trained(network, with_loss_scaling(plain), {.fuse = false}), expected);
}

TEST_P(LossScalingOf, ChangesNoBitOfSeveralBatchesForAnUpdate) {
    const auto of_three = [&](const Program& program) {
        State state(program, 5);
        Executor executor(program, state, {}, {.threads = 1});
        for (std::size_t update = 0; update < steps / 3; ++update) {
            for (std::size_t part = 0; part < 3; ++part) {
                network.feed(executor, (update * 3 + part) * batch);
                executor.accumulate();
            }
            executor.update();
        }
        return state;
    };
    const DataParallelOptions averaged{.ranks = 1, .micro_batches = 3};
    const auto expected = of_three(data_parallel(plain, averaged));
    const auto scaled = data_parallel(with_loss_scaling(plain, {.growth_steps = 2}), averaged);
    const auto given = of_three(scaled);
    expect_same_bits(given, expected);
    EXPECT_EQ(scale_of(given), 65536 * 16) << "eight updates";
}

// The oracle never sees the batches that overflow.
TEST_P(LossScalingOf, LeavesOutStepsThatOverflow) {
    if (network.name == "ClickThroughModel") GTEST_SKIP() << "it has no such input";
    const auto scaled = with_loss_scaling(plain, {.first = 0x1p60, .growth_steps = 4});
    const State state(scaled, 5);
    const State expected(plain, 5);
    Executor executor(scaled, state, {}, {.threads = 1});
    Executor oracle(plain, expected, {}, {.threads = 1});
    const auto good = [&](std::size_t step) {
        for (auto* each : {&executor, &oracle}) {
            network.feed(*each, step * batch);
            each->run();
        }
    };
    const auto bad = [&] {
        network.feed(executor, 0);
        for (auto& value : executor.feed<float>("x")) value = 1e30F;
        executor.run();
    };
    for (std::size_t step = 0; step < 3; ++step) good(step);
    EXPECT_EQ(good_steps_of(state), 3);
    bad();
    expect_same_bits(state, expected);
    EXPECT_EQ(scale_of(state), 0x1p59F);
    EXPECT_EQ(executor.fetch_scalar(loss_scale_name), 0x1p59F);
    EXPECT_EQ(good_steps_of(state), 0);
    bad();
    bad();
    expect_same_bits(state, expected);
    EXPECT_EQ(scale_of(state), 0x1p57F);
    for (std::size_t step = 3; step < 8; ++step) good(step);
    expect_same_bits(state, expected);
    EXPECT_EQ(scale_of(state), 0x1p58F) << "it grows again";
    EXPECT_EQ(good_steps_of(state), 1);
}

INSTANTIATE_TEST_SUITE_P(Networks, LossScalingOf,
                         testing::Values(with_sgd(), with_adam(), momentum_with_a_schedule(),
                                         dropout_classifier(), click_through_model()),
                         [](const auto& each) { return each.param.name; });

// What a checkpoint keeps of a State is what clone() does.
TEST(LossScaling, GoesOnWhereItWas) {
    const auto network = with_adam();
    const auto program = with_loss_scaling(built(network), {.growth_steps = 16});
    const auto expected = trained(network, program);
    const State first(program, 5);
    {
        Executor executor(program, first);
        for (std::size_t step = 0; step < 10; ++step) {
            network.feed(executor, step * batch);
            executor.run();
        }
    }
    const auto second = first.clone();
    EXPECT_EQ(good_steps_of(second), 10);
    Executor executor(program, second);
    for (std::size_t step = 10; step < steps; ++step) {
        network.feed(executor, step * batch);
        executor.run();
    }
    expect_same_bits(second, expected);
    EXPECT_EQ(scale_of(second), 2 * 65536);
}

TEST(LossScaling, IsAnOperatorBehindTheLastGradient) {
    Program program;
    const auto x = layers::data(program, "x", {4, 2});
    minimize(program, layers::mean(program, layers::fc(program, x, 3)), Adam{});
    const auto scaled = with_loss_scaling(program);
    std::vector<std::string> types;
    for (const auto& op : scaled.operators()) types.push_back(op.type);
    EXPECT_THAT(types, ElementsAre("fc", "mean", "loss_gradient", "mean_grad", "fc_grad_weight",
                                   "unscale_gradients", "increment", "adam", "adam"));
    EXPECT_THAT(scaled.to_string(), HasSubstr("loss_gradient(scale=loss_scale)"));
    const auto parallel = data_parallel(scaled, {.ranks = 2});
    types.clear();
    for (const auto& op : parallel.operators()) types.push_back(op.type);
    EXPECT_THAT(types,
                ElementsAre("fc", "mean", "loss_gradient", "mean_grad", "fc_grad_weight", "allreduce_start",
                            "allreduce_wait", "unscale_gradients", "increment", "adam", "adam"));
}

TEST(LossScaling, ScalesGrowAndShrinkWithinTheirBounds) {
    using kernels::after_step;
    using kernels::LossScale;
    const kernels::LossScaleRule rule{.growth = 4, .backoff = 0.25F, .growth_steps = 3};
    LossScale now{.scale = 8, .good_steps = 0};
    std::vector<float> scales;
    for (const bool finite : {true, true, true, true, true, false, true, true, true}) {
        now = after_step(now, rule, finite);
        scales.push_back(now.scale);
    }
    EXPECT_THAT(scales, ElementsAre(8, 8, 32, 32, 32, 8, 8, 8, 32));
    EXPECT_EQ(after_step({.scale = 0x1p126F, .good_steps = 2}, rule, true).scale, 0x1p126F);
    EXPECT_EQ(after_step({.scale = 0x1p-126F, .good_steps = 2}, rule, false).scale, 0x1p-126F);
    const kernels::LossScaleRule fixed{.growth = 1, .backoff = 1, .growth_steps = 1};
    for (const bool finite : {false, true}) EXPECT_EQ(after_step({8, 0}, fixed, finite).scale, 8);
}

TEST(LossScaling, SaysWhatItCannotScale) {
    const auto program = built(with_sgd());
    const auto refused = [](const Program& given, const LossScaling& options = {}) {
        return message_of<ProgramError>([&] { with_loss_scaling(given, options); });
    };
    EXPECT_THAT(refused(program, {.first = 1000}),
                HasSubstr("with_loss_scaling: first is 1000, expected a power of two from "));
    EXPECT_THAT(refused(program, {.first = 0}), HasSubstr("first is 0"));
    EXPECT_THAT(refused(program, {.first = std::numeric_limits<double>::infinity()}),
                HasSubstr("first is inf"));
    EXPECT_THAT(refused(program, {.growth = 0.5}), HasSubstr("growth is 0.5"));
    EXPECT_THAT(refused(program, {.backoff = 2}), HasSubstr("backoff is 2"));
    EXPECT_EQ(refused(program, {.growth_steps = 0}),
              "with_loss_scaling: growth_steps is 0, expected at least 1");
    EXPECT_EQ(refused(with_loss_scaling(program)), "with_loss_scaling: the program scales its loss already");
    EXPECT_EQ(refused(data_parallel(program, {.ranks = 2})),
              "with_loss_scaling: the program is data parallel already; scale the loss before");
    EXPECT_THAT(refused(make_classifier(4).program), HasSubstr("call minimize() first"));
    Program sparse;
    const auto ids = layers::data(sparse, "ids", {4}, DataType::int64);
    minimize(sparse, layers::mean(sparse, layers::embedding(sparse, ids, 10, 3, {.is_sparse = true})), Sgd{});
    EXPECT_THAT(refused(sparse), HasSubstr("is sparse"));
    EXPECT_THAT(message_of<ProgramError>(
                    [&] { data_parallel(with_loss_scaling(program), {.ranks = 2, .one_copy = true}); }),
                HasSubstr("one_copy nothing but updates may follow the gradients"));
}

TEST(LossScaling, CpusMultiplyNoFloat16) {
    if (tests::executors_are_on_a_gpu()) GTEST_SKIP() << "GPUs do";
    const auto program = built(with_sgd());
    EXPECT_EQ(message_of<UsageError>(
                  [&] { Executor(program, State(program, 1), {}, {.products = ComputeType::float16}); }),
              "ExecutorOptions::products is float16, and only GPUs multiply float16: choose one (device "
              "\"gpu\", or DTRAIN_DEVICE=gpu), or bfloat16 or float32");
}

}  // namespace
}  // namespace dtrain
