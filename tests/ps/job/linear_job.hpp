// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/parameter_servers.hpp>
#include <dtrain/passes.hpp>

#include "support/test_world.hpp"

namespace dtrain {

/// What all processes of a job do with its program.
inline DistributeTranspiler transpiled(const ServerRanks& ranks, const Program& program, ServerMode mode,
                                       std::int64_t push_every = 1) {
    const bool is_geo = mode == ServerMode::geo;
    DistributeTranspiler transpiler({.geo_sgd_mode = is_geo, .geo_sgd_need_push_nums = push_every});
    transpiler.transpile(program, {.trainer_id = ranks.serves() ? 0 : ranks.number(),
                                   .pservers = ranks.pservers(),
                                   .trainers = ranks.trainers(),
                                   .sync_mode = mode == ServerMode::sync});
    return transpiler;
}

/// Sgd whose gradients do not depend on the parameters: the sum is the same in whatever order they come.
inline Program linear_program() {
    Program program;
    const auto ids = layers::data(program, "ids", {4}, DataType::int64);
    const auto factor = layers::data(program, "factor", {4, 2});
    const auto rows_of =
        layers::embedding(program, ids, 100, 2, {.is_sparse = true, .is_distributed = true, .name = "table"});
    const auto weighted = layers::multiply(program, rows_of, factor);
    const auto dense = layers::fc(program, factor, 3, {.name = "fc"});
    minimize(
        program,
        layers::sum(program, {layers::reduce_sum(program, weighted), layers::reduce_sum(program, dense)}),
        Sgd{0.25});
    return program;
}

inline void expect_each_gradient_once(const ServerJobOptions& options, const Device& device = Device::cpu()) {
    constexpr int steps = 50;
    for (int servers = 1; servers < test_world().size(); ++servers) {
        const ServerRanks ranks(test_world(), servers);
        const auto transpiler = transpiled(ranks, linear_program(), options.mode, 7);
        if (ranks.serves()) {
            serve(ranks, transpiler, options);
            continue;
        }
        ServerConnection connection(ranks, transpiler, options);
        const auto trainer = transpiler.get_trainer_program();
        const State state(trainer, 1);
        connection.pull_parameters(state);
        const auto weight = state.find("fc.weight")->view.as<float>();
        const std::vector<float> before(weight.begin(), weight.end());
        ranks.peers().barrier();
        Executor executor(trainer, state, {}, {.device = device, .threads = 1, .servers = connection.link()});
        std::ranges::copy(std::vector<std::int64_t>{-1, INT64_MIN, INT64_MAX, -1},
                          executor.feed<std::int64_t>("ids").begin());
        std::ranges::fill(executor.feed<float>("factor"), 0.5F);
        for (int step = 0; step < steps; ++step) executor.run();
        connection.finish();
        ranks.peers().barrier();
        connection.pull_parameters(state);
        // Gradients are sums over four rows of 0.5 each: 2 in each element; of the table 0.5 for each use.
        const bool are_averages = options.mode == ServerMode::sync || options.mode == ServerMode::geo;
        const auto updates = static_cast<float>(steps * (are_averages ? 1 : ranks.trainers()));
        for (std::size_t i = 0; i < before.size(); ++i) {
            const auto expected = before[i] - updates * 0.25F * 2.0F;
            // In geo mode a fraction of what has changed is rounded, as a third of it.
            if (options.mode == ServerMode::geo)
                EXPECT_NEAR(weight[i], expected, 1e-4);
            else
                EXPECT_FLOAT_EQ(weight[i], expected);
        }
        const auto name = trainer.operators().front().output("out");
        Executor reader(for_test(trainer, {name}), state, {},
                        {.device = device, .servers = connection.link()});
        std::ranges::copy(std::vector<std::int64_t>{-1, INT64_MIN, INT64_MAX, 5},
                          reader.feed<std::int64_t>("ids").begin());
        reader.run();
        const auto values = reader.fetch(name);
        const float bound = 0.25F;
        EXPECT_NEAR(values[0], -updates * 0.25F * 1.0F, bound);
        EXPECT_NEAR(values[2], -updates * 0.25F * 0.5F, bound);
        EXPECT_NEAR(values[4], -updates * 0.25F * 0.5F, bound);
        EXPECT_NEAR(values[6], 0, bound);
        ranks.peers().barrier();
        connection.leave();
    }
}

}  // namespace dtrain
