// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <string>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>

namespace dtrain::tests {

/// Of a classifier with one hidden layer: 3 values in, 2 classes.
inline State small_state(std::uint64_t seed, std::int64_t hidden = 5, const Optimizer& optimizer = Adam{}) {
    Program program;
    const auto x = layers::data(program, "x", {4, 3});
    const auto label = layers::data(program, "label", {4}, DataType::int64);
    const auto logits = layers::fc(program, layers::relu(program, layers::fc(program, x, hidden)), 2);
    minimize(program, layers::softmax_with_cross_entropy(program, logits, label).loss, optimizer);
    return State(program, seed);
}

/// Other bytes in every tensor, the same for the same seed.
inline void scramble(const State& state, unsigned seed) {
    std::mt19937 random(seed);
    for (const auto& tensor : state.tensors())
        std::generate_n(static_cast<unsigned char*>(tensor.view.data), tensor.view.bytes(), std::ref(random));
}

inline std::string bytes_of(const State& state) {
    std::string bytes;
    for (const auto& tensor : state.tensors())
        bytes.append(static_cast<const char*>(tensor.view.data), tensor.view.bytes());
    return bytes;
}

}  // namespace dtrain::tests
