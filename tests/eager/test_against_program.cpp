// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a static Program of the same network, run by the Executor with the same initial values, batches and
// dropout: the same bits, step by step, but where norms of all gradients are summed up in another order. Its
// own values are checked elsewhere (tests/program).
#include <bit>
#include <cstring>

#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/nn.hpp>

#include "digit_like.hpp"

namespace dtrain::nn {
namespace {

struct Static {
    std::string loss;
    std::string accuracy;
    Program program;
};

Static static_network(std::int64_t batch, const dtrain::Optimizer& optimizer,
                      const OptimizerOptions& options) {
    Static made;
    auto& program = made.program;
    const auto x = layers::data(program, "x", {batch, 4, 4});
    const auto y = layers::data(program, "y", {batch}, DataType::int64);
    const auto hidden = layers::fc(program, layers::flatten(program, x), 32, {.activation = "relu"});
    const auto dropped = layers::dropout(program, hidden, 0.2, {.seed = 7});
    const auto logits =
        layers::fc(program, layers::tanh(program, layers::fc(program, dropped, 8)), 4, {.name = "last"});
    made.loss = layers::softmax_with_cross_entropy(program, logits, y).loss;
    made.accuracy = layers::accuracy(program, logits, y);
    minimize(program, made.loss, optimizer, options);
    return made;
}

void expect_same_bits(float one, float other, const std::string& what) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(one), std::bit_cast<std::uint32_t>(other))
        << what << ": " << one << " and " << other;
}

// tolerance 0: the same bits
void check(const dtrain::Optimizer& optimizer, const OptimizerOptions& options = {}, float tolerance = 0) {
    const auto expect_same = [&](float one, float other, const std::string& what) {
        if (tolerance > 0)
            EXPECT_NEAR(one, other, tolerance) << what;
        else
            expect_same_bits(one, other, what);
    };
    seed(7);
    Sequential network{Flatten(),
                       Linear(16, 32),
                       ReLU(),
                       Dropout(0.2),
                       Linear(32, 8),
                       Tanh(),
                       Linear(8, 4, {.name = "last"})};
    Optimizer optim(optimizer, network.parameters(), options);

    // 45 samples: an epoch is two batches of 20 and one of 5, each with a program of its own.
    const auto data = digit_like(45);
    const DataLoader loader(data, {.batch_size = 20, .shuffle = true, .sample = {4, 4}});
    const auto whole = static_network(20, optimizer, options);
    const auto rest = static_network(5, optimizer, options);
    const State state(whole.program, 7);
    Executor for_whole(whole.program, state);
    Executor for_rest(rest.program, state);

    int steps = 0;
    for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
        for (const auto& [batch_id, x, y] : loader(epoch)) {
            auto& executor = x.shape()[0] == 20 ? for_whole : for_rest;
            std::ranges::copy(x.values(), executor.feed<float>("x").begin());
            std::ranges::copy(y.values<std::int64_t>(), executor.feed<std::int64_t>("y").begin());
            executor.run();

            const auto predicts = network(x);
            const auto loss = cross_entropy(predicts, y);
            const auto acc = accuracy(predicts, y);
            loss.backward();
            optim.step();
            optim.clear_grad();
            expect_same(loss.item(), executor.fetch_scalar(whole.loss), "loss");
            expect_same(acc.item(), executor.fetch_scalar(whole.accuracy), "accuracy");
            ++steps;
        }
    }
    EXPECT_EQ(steps, 24);
    for (const auto& parameter : network.parameters()) {
        if (testing::Test::HasFailure()) break;
        const auto expected = state.find(parameter.name())->view.as<float>();
        ASSERT_EQ(parameter.values().size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
            expect_same(parameter.values()[i], expected[i], parameter.name());
    }
    for (const auto& kept : optim.state().tensors()) {
        const auto* const expected = state.find(kept.name);
        ASSERT_NE(expected, nullptr) << kept.name;
        if (tolerance > 0) continue;
        EXPECT_EQ(std::memcmp(kept.view.data, expected->view.data, kept.view.bytes()), 0) << kept.name;
    }
}

TEST(AgainstPrograms, Adam) {
    check(Adam{0.01});
}

TEST(AgainstPrograms, MomentumWithScheduleAndDecay) {
    check(Momentum{.learning_rate = 0.05, .nesterov = true},
          {.schedule = LearningRateSchedule{ExponentialDecay{0.05, 5, 0.9}},
           .clipping = ClipByNorm{0.5},
           .regularisation = L2Decay{1e-3}});
}

TEST(AgainstPrograms, AdamW) {
    check(AdamW{.learning_rate = 0.01, .without_decay = {"fc_0.bias"}}, {.clipping = ClipByValue{-0.1, 0.1}});
}

TEST(AgainstPrograms, AGlobalNormIsNearlyTheSame) {
    check(Momentum{0.05}, {.clipping = ClipByGlobalNorm{0.3}}, 1e-5F);
}

TEST(AgainstPrograms, Sgd) {
    check(Sgd{0.1});
}

}  // namespace
}  // namespace dtrain::nn
