// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>

namespace dtrain {

/// A classifier of 64 numbers with 10 classes, as the built-in job has it: 64-128-64-10.
struct Classifier {
    Program program;
    layers::CrossEntropy cross_entropy;
    std::string logits;
};

inline Classifier make_classifier(std::int64_t batch, const std::string& activation = "relu") {
    Classifier made;
    auto& program = made.program;
    const auto x = layers::data(program, "x", {batch, 64});
    const auto label = layers::data(program, "label", {batch}, DataType::int64);
    auto hidden = layers::fc(program, x, 128, {.activation = activation});
    hidden = layers::fc(program, hidden, 64, {.activation = activation});
    made.logits = layers::fc(program, hidden, 10);
    made.cross_entropy = layers::softmax_with_cross_entropy(program, made.logits, label);
    return made;
}

/// Sample `number` of a made-up data set that can be learned: each class has a pattern, with noise on it.
inline void make_sample(std::size_t number, float* x, std::int64_t& label) {
    label = static_cast<std::int64_t>((number * 7 + number / 10) % 10);
    for (std::size_t i = 0; i < 64; ++i) {
        const double pattern = std::sin(0.9 * static_cast<double>(i) * static_cast<double>(label + 1));
        const double noise =
            std::sin(12.9898 * static_cast<double>(number) + 78.233 * static_cast<double>(i));
        x[i] = static_cast<float>(0.5 + 0.4 * pattern + 0.3 * noise);
    }
}

/// Feeds samples first, first + 1, ... into the executor's "x" and "label".
inline void feed_samples(Executor& executor, std::size_t first) {
    const auto x = executor.feed<float>("x");
    const auto label = executor.feed<std::int64_t>("label");
    for (std::size_t row = 0; row < label.size(); ++row) make_sample(first + row, &x[row * 64], label[row]);
}

}  // namespace dtrain
