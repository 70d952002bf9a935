// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/passes.hpp>

/// What a job with servers in sync mode has to be equal to.
namespace dtrain {

inline std::string logits_name(const Program& program) {
    for (const auto& op : program.operators())
        if (op.type == "bce_with_logits") return op.input("logits");
    return "";
}

/// After so many steps of one process that accumulates so many batches in each.
/// @param feed (Executor&, number of the batch)
template <class Feed>
State state_of_one_process(const Program& program, std::uint64_t seed, int steps, int batches,
                           const Feed& feed) {
    const auto parallel = data_parallel(program, {.micro_batches = batches});
    Executor executor(parallel, State(parallel, seed), {}, {.threads = 1});
    for (int step = 0; step < steps; ++step) {
        if (batches == 1) {
            feed(executor, step);
            executor.run();
            continue;
        }
        for (int i = 0; i < batches; ++i) {
            feed(executor, step * batches + i);
            executor.accumulate();
        }
        executor.update();
    }
    return executor.state();
}

inline void expect_same_bits(const std::vector<float>& actual, const std::vector<float>& expected,
                             int servers, int trainers) {
    ASSERT_EQ(actual.size(), expected.size());
    EXPECT_EQ(std::memcmp(actual.data(), expected.data(), actual.size() * sizeof(float)), 0)
        << servers << " servers, " << trainers << " trainers: " << actual[0] << " and " << expected[0];
}

}  // namespace dtrain
