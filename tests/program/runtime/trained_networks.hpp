// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/learning_rate.hpp>
#include <dtrain/optimizer.hpp>

#include "program/runtime/classifier.hpp"

namespace dtrain {

/// A training program, its loss, and batches for it.
struct TrainedNetwork {
    std::string name;
    std::function<std::string(Program& program, std::int64_t batch)> build;  ///< gives the loss
    std::function<void(Executor& executor, std::size_t first)> feed;  ///< samples first, first + 1, ...
    /// Of a parameter after some 20 steps whose sums are made in another order. Adam divides a gradient by
    /// its own size, however little of it is more than rounding.
    double tolerance = 5e-5;
};

/// For the names of tests.
inline void PrintTo(const TrainedNetwork& network, std::ostream* out) {
    *out << network.name;
}

inline TrainedNetwork mlp_with_adam() {
    return {"MlpWithAdam",
            [](Program& program, std::int64_t batch) {
                auto made = make_classifier(batch, "tanh");
                program = made.program;
                minimize(program, made.cross_entropy.loss, Adam{.learning_rate = 0.002});
                return made.cross_entropy.loss;
            },
            feed_samples, 1e-3};
}

inline TrainedNetwork momentum_with_a_schedule() {
    return {"MomentumWithASchedule",
            [](Program& program, std::int64_t batch) {
                auto made = make_classifier(batch);
                program = made.program;
                minimize(
                    program, made.cross_entropy.loss, Momentum{},
                    {.schedule = LearningRateSchedule{ExponentialDecay{
                         .learning_rate = 0.05, .decay_steps = 5, .decay_rate = 0.7, .staircase = true}}});
                return made.cross_entropy.loss;
            },
            feed_samples};
}

inline TrainedNetwork dropout_classifier() {
    return {"Dropout",
            [](Program& program, std::int64_t batch) {
                auto x = layers::data(program, "x", {batch, 64});
                const auto label = layers::data(program, "label", {batch}, DataType::int64);
                for (int layer = 0; layer < 2; ++layer)
                    x = layers::dropout(program, layers::fc(program, x, 31, {.activation = "relu"}), 0.3);
                const auto loss =
                    layers::softmax_with_cross_entropy(program, layers::fc(program, x, 10), label).loss;
                minimize(program, loss, Sgd{.learning_rate = 0.1},
                         {.clipping = ClipByGlobalNorm{.norm = 0.5}});
                return loss;
            },
            feed_samples};
}

inline TrainedNetwork image_classifier() {
    return {"Images",
            [](Program& program, std::int64_t batch) {
                auto x = layers::data(program, "x", {batch, 64});
                const auto label = layers::data(program, "label", {batch}, DataType::int64);
                x = layers::reshape(program, x, {batch, 1, 8, 8});
                x = layers::relu(program, layers::conv2d(program, x, 6, 3, 1, 1));
                x = layers::max_pool2d(program, x, 2);
                x = layers::reshape(program, x, {batch, 6 * 4 * 4});
                const auto loss =
                    layers::softmax_with_cross_entropy(program, layers::fc(program, x, 10), label).loss;
                minimize(program, loss, Momentum{.learning_rate = 0.02});
                return loss;
            },
            feed_samples, 1e-3};
}

inline TrainedNetwork click_through_model(bool is_sparse = false) {
    return {is_sparse ? "SparseClickThroughModel" : "ClickThroughModel",
            [is_sparse](Program& program, std::int64_t batch) {
                const auto user = layers::data(program, "user", {batch}, DataType::int64);
                const auto item = layers::data(program, "item", {batch}, DataType::int64);
                const auto age = layers::data(program, "age", {batch, 1});
                const auto label = layers::data(program, "label", {batch, 1});
                const auto features = layers::concat(
                    program,
                    {layers::embedding(program, user, 40, 8, {.is_sparse = is_sparse, .name = "users"}),
                     layers::embedding(program, item, 60, 8, {.is_sparse = is_sparse, .name = "items"}), age},
                    1);
                const auto hidden = layers::fc(program, features, 32, {.activation = "relu"});
                const auto loss = layers::mean(
                    program, layers::bce_with_logits(program, layers::fc(program, hidden, 1), label));
                minimize(program, loss, Adam{.learning_rate = 0.01});
                return loss;
            },
            [](Executor& executor, std::size_t first) {
                const auto user = executor.feed<std::int64_t>("user");
                for (std::size_t i = 0; i < user.size(); ++i) {
                    const auto n = first + i;
                    user[i] = static_cast<std::int64_t>(n * 7 % 40);
                    executor.feed<std::int64_t>("item")[i] = static_cast<std::int64_t>(n * n % 60);
                    executor.feed<float>("age")[i] = static_cast<float>(n % 10) / 10;
                    executor.feed<float>("label")[i] = (n * 7 % 40 + n * n % 60) % 3 == 0 ? 1.0F : 0.0F;
                }
            },
            1e-3};
}

}  // namespace dtrain
