// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>

#include <gtest/gtest.h>

#include <dtrain/passes.hpp>

#include "program/runtime/trained_networks.hpp"

namespace dtrain {

inline constexpr std::size_t steps = 24;
inline constexpr std::int64_t batch = 16;

/// Of a classifier with relu, where large numbers stay large.
inline TrainedNetwork trained_by(const std::string& name, const Optimizer& optimizer) {
    return {name,
            [optimizer](Program& program, std::int64_t rows) {
                auto made = make_classifier(rows);
                program = made.program;
                minimize(program, made.cross_entropy.loss, optimizer);
                return made.cross_entropy.loss;
            },
            feed_samples};
}

inline TrainedNetwork with_sgd() {
    return trained_by("Sgd", Sgd{.learning_rate = 0.1});
}

inline TrainedNetwork with_adam() {
    return trained_by("Adam", Adam{.learning_rate = 0.002});
}

inline Program built(const TrainedNetwork& network, std::int64_t rows = batch) {
    Program program;
    network.build(program, rows);
    return program;
}

inline float scale_of(const State& state) {
    return state.find(loss_scale_name)->view.as<float>()[0];
}

inline std::int64_t good_steps_of(const State& state) {
    return state.find(loss_scale_steps_name)->view.as<std::int64_t>()[0];
}

/// What `expected` has, `state` has too; it may have more.
inline void expect_same_bits(const State& state, const State& expected) {
    for (const auto& tensor : expected.tensors()) {
        const auto found = state.find(tensor.name);
        ASSERT_TRUE(found) << tensor.name;
        EXPECT_EQ(std::memcmp(found->view.data, tensor.view.data, tensor.view.bytes()), 0) << tensor.name;
    }
}

inline State trained(const TrainedNetwork& network, const Program& program, ExecutorOptions options = {}) {
    State state(program, 5);
    options.threads = 1;
    Executor executor(program, state, {}, options);
    for (std::size_t step = 0; step < steps; ++step) {
        network.feed(executor, step * batch);
        executor.run();
    }
    return state;
}

}  // namespace dtrain
