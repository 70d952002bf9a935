// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <dtrain/dataset.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/model.hpp>

namespace dtrain {

/// Samples of 4 values in three classes that can be told apart, mostly.
inline Dataset three_classes(std::int64_t samples) {
    std::vector<float> x;
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < samples; ++i) {
        labels.push_back((i * 7 + i / 10) % 3);
        for (int k = 0; k < 4; ++k)
            x.push_back(static_cast<float>(std::sin(1.3 * k * static_cast<double>(labels.back() + 1)) +
                                           0.4 * std::sin(12.9 * static_cast<double>(i) + 78.2 * k)));
    }
    return {std::move(x), std::move(labels), 4};
}

inline std::string small_network(Program& program, const std::string& x) {
    return layers::fc(program, layers::fc(program, x, 8, {.activation = "tanh"}), 3);
}

/// 4-8-3 tanh, not prepared.
inline Model small_model(ModelOptions options = {}) {
    return {SimpleNetwork(small_network), {"x", {4}}, {"label", {}, DataType::int64}, std::move(options)};
}

/// 4-8-3 tanh for three_classes().
inline Model prepared_model(ModelOptions options = {}, const Optimizer& optimizer = Adam{0.01}) {
    auto model = small_model(std::move(options));
    model.prepare(optimizer, CrossEntropyLoss{}, {Accuracy{}});
    return model;
}

}  // namespace dtrain
