// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/nn.hpp>

namespace dtrain::nn {

/// The same network as a Program: it is fed x and the labels y.
struct Static {
    std::string loss;
    std::string accuracy;
    Program program;
};

/// Appends layers to a program that has x, and returns the logits.
using Logits = std::function<std::string(Program& program, const std::string& x)>;

struct AgainstProgram {
    Logits logits;
    const DataSource& data;  ///< 45 samples
    Shape sample;
    DataType type = DataType::float32;  ///< of what the program is fed as x
    dtrain::Optimizer optimizer = Sgd{0.1};
    OptimizerOptions options = {};
    float tolerance = 0;          ///< 0: the same bits
    float gpu_tolerance = 5e-5F;  ///< of a parameter, where tensors are on a GPU and the Executor is not
};

inline Static static_network(std::int64_t batch, const AgainstProgram& compared) {
    Static made;
    auto& program = made.program;
    Shape shape{batch};
    shape.insert(shape.end(), compared.sample.begin(), compared.sample.end());
    const auto x = layers::data(program, "x", shape, compared.type);
    const auto y = layers::data(program, "y", {batch}, DataType::int64);
    const auto logits = compared.logits(program, x);
    made.loss = layers::softmax_with_cross_entropy(program, logits, y).loss;
    made.accuracy = layers::accuracy(program, logits, y);
    minimize(program, made.loss, compared.optimizer, compared.options);
    return made;
}

inline void feed(Executor& executor, const Batch& batch, DataType type) {
    if (type == DataType::int64)
        std::ranges::transform(batch.x.values(), executor.feed<std::int64_t>("x").begin(),
                               [](float id) { return static_cast<std::int64_t>(id); });
    else
        std::ranges::copy(batch.x.values(), executor.feed<float>("x").begin());
    std::ranges::copy(batch.y.values<std::int64_t>(), executor.feed<std::int64_t>("y").begin());
}

/// Trains both for 24 steps and compares each loss, and all that they have in the end.
/// @param network made with the seed 7
inline void expect_same_training(Layer& network, const AgainstProgram& compared) {
    const bool apart = get_device().is_gpu();
    const auto loss_tolerance = apart ? 1e-4F : compared.tolerance;
    const auto tolerance = apart ? std::max(compared.tolerance, compared.gpu_tolerance) : compared.tolerance;
    const auto expect_same = [](float one, float other, float by, const std::string& what) {
        if (by > 0)
            EXPECT_NEAR(one, other, by) << what;
        else
            EXPECT_EQ(std::bit_cast<std::uint32_t>(one), std::bit_cast<std::uint32_t>(other))
                << what << ": " << one << " and " << other;
    };
    Optimizer optim(compared.optimizer, network.parameters(), compared.options);

    // An epoch is two batches of 20 and one of 5, each with a program of its own.
    ASSERT_EQ(compared.data.size(), 45);
    const DataLoader loader(compared.data, {.batch_size = 20, .shuffle = true, .sample = compared.sample});
    const auto whole = static_network(20, compared);
    const auto rest = static_network(5, compared);
    const State state(whole.program, 7);
    Executor for_whole(whole.program, state, {}, {.device = Device::cpu()});
    Executor for_rest(rest.program, state, {}, {.device = Device::cpu()});

    int steps = 0;
    float first_loss = 0;
    float last_loss = 0;
    for (std::int64_t epoch = 0; epoch < 8; ++epoch) {
        for (const auto& batch : loader(epoch)) {
            auto& executor = batch.x.shape()[0] == 20 ? for_whole : for_rest;
            feed(executor, batch, compared.type);
            executor.run();

            const auto predicts = network(batch.x);
            const auto loss = cross_entropy(predicts, batch.y);
            const auto acc = accuracy(predicts, batch.y);
            loss.backward();
            optim.step();
            optim.zero_grad();
            expect_same(loss.item(), executor.fetch_scalar(whole.loss), loss_tolerance, "loss");
            expect_same(acc.item(), executor.fetch_scalar(whole.accuracy), loss_tolerance, "accuracy");
            if (steps == 0) first_loss = loss.item();
            last_loss = loss.item();
            ++steps;
        }
    }
    EXPECT_EQ(steps, 24);
    EXPECT_LT(last_loss, first_loss) << "what does not learn proves little";
    for (const auto& parameter : network.parameters()) {
        if (testing::Test::HasFailure()) break;
        const auto* const found = state.find(parameter.name());
        ASSERT_NE(found, nullptr) << parameter.name();
        const auto expected = found->view.as<float>();
        ASSERT_EQ(parameter.values().size(), expected.size());
        for (std::size_t i = 0; i < expected.size(); ++i)
            expect_same(parameter.values()[i], expected[i], tolerance, parameter.name());
    }
    for (const auto& kept : optim.state().tensors()) {
        const auto* const expected = state.find(kept.name);
        ASSERT_NE(expected, nullptr) << kept.name;
        if (tolerance > 0) continue;
        EXPECT_EQ(std::memcmp(kept.view.data, expected->view.data, kept.view.bytes()), 0) << kept.name;
    }
}

}  // namespace dtrain::nn
