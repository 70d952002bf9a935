// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: one process that trains whole batches, and so drops what the whole batch drops; with virtual ranks
// the bits of one process. Runs at 1, 2 and 4 ranks.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/layers.hpp>
#include <dtrain/optimizer.hpp>
#include <dtrain/passes.hpp>

#include "program/runtime/classifier.hpp"
#include "program/runtime/copy_of.hpp"
#include "program/runtime/near_states.hpp"
#include "support/on_gpu.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

constexpr std::size_t dropout_steps = 10;
constexpr std::size_t dropout_part = 8;

struct Dropping {
    Program program;
    std::string ones;     ///< [batch, 5], fed
    std::string dropped;  ///< what dropout left of them
};

Dropping dropping_classifier(std::size_t rows) {
    const auto batch = static_cast<std::int64_t>(rows);
    Dropping made;
    auto& program = made.program;
    auto x = layers::data(program, "x", {batch, 64});
    const auto label = layers::data(program, "label", {batch}, DataType::int64);
    made.ones = layers::data(program, "ones", {batch, 5});
    made.dropped = layers::dropout(program, made.ones, 0.5, {.seed = 5});
    for (int layer = 0; layer < 2; ++layer)
        x = layers::dropout(program, layers::fc(program, x, 31, {.activation = "relu"}), 0.3);
    x = layers::fc(program, layers::concat(program, {x, made.dropped}, 1), 10);
    minimize(program, layers::softmax_with_cross_entropy(program, x, label).loss,
             Momentum{.learning_rate = 0.02});
    return made;
}

void feed_from(Executor& executor, std::size_t first) {
    feed_samples(executor, first);
    std::ranges::fill(executor.feed<float>("ones"), 1.0F);
}

State train_alone(std::size_t batch) {
    const auto made = dropping_classifier(batch);
    State state(made.program, 3);
    Executor executor(made.program, state, {}, {.threads = 1});
    for (std::size_t step = 0; step < dropout_steps; ++step) {
        feed_from(executor, step * batch);
        executor.run();
    }
    return state;
}

State train_virtually(const Communicator& world, std::size_t parts) {
    const auto program =
        with_virtual_ranks(dropping_classifier(dropout_part).program, static_cast<int>(parts));
    State state(program, 3);
    Executor executor(program, state, world, {.threads = 1});
    const auto [begin, end] = executor.virtual_ranks();
    for (std::size_t step = 0; step < dropout_steps; ++step) {
        for (int v = begin; v < end; ++v) {
            feed_from(executor, (step * parts + static_cast<std::size_t>(v)) * dropout_part);
            executor.accumulate();
        }
        executor.update();
    }
    return state;
}

TEST(DropoutOfRanks, IsThatOfTheWholeBatch) {
    const auto& world = test_world();
    const auto ranks = static_cast<std::size_t>(world.size());
    const auto rank = static_cast<std::size_t>(world.rank());
    for (const bool one_copy : {false, true}) {
        if (one_copy && tests::executors_are_on_a_gpu()) GTEST_SKIP() << "a GPU does not do one_copy";
        const auto made = dropping_classifier(dropout_part);
        const auto program = data_parallel(made.program, {.ranks = world.size(), .one_copy = one_copy});
        const auto state = one_copy ? State(program, 3, world) : State(program, 3);
        Executor executor(program, state, world, {.threads = 1});
        for (std::size_t step = 0; step < dropout_steps; ++step) {
            feed_from(executor, (step * ranks + rank) * dropout_part);
            executor.run();
        }
        tests::expect_near(state, train_alone(dropout_part * ranks), 1e-5);
        world.barrier();  // nobody changes what others still compare
    }
}

TEST(DropoutOfRanks, IsThatOfTheWholeBatchInSeveralBatches) {
    const auto& world = test_world();
    constexpr std::size_t micro_batches = 3;
    const auto made = dropping_classifier(dropout_part);
    const auto program = data_parallel(
        made.program, {.ranks = world.size(), .micro_batches = static_cast<int>(micro_batches)});
    const State state(program, 3);
    Executor executor(program, state, world, {.threads = 1});
    const auto global = dropout_part * micro_batches * static_cast<std::size_t>(world.size());
    for (std::size_t step = 0; step < dropout_steps; ++step) {
        for (std::size_t batch = 0; batch < micro_batches; ++batch) {
            feed_from(executor,
                      step * global +
                          (static_cast<std::size_t>(world.rank()) * micro_batches + batch) * dropout_part);
            executor.accumulate();
        }
        executor.update();
    }
    tests::expect_near(state, train_alone(global), 1e-5);
}

TEST(DropoutOfRanks, IsTheSameBitsForAnyNumberOfRanksThatShareVirtualOnes) {
    for (const std::size_t parts : {4U, 5U, 8U}) {
        const auto alone = train_virtually({}, parts);
        EXPECT_EQ(parameters_checksum(train_virtually(test_world(), parts)), parameters_checksum(alone));
        tests::expect_near(alone, train_alone(dropout_part * parts), 1e-5);
    }
}

TEST(DropoutOfRanks, DiffersFromRankToRank) {
    const auto& world = test_world();
    const auto made = dropping_classifier(dropout_part);
    const auto program = data_parallel(made.program, {.ranks = world.size()});
    Executor executor(program, State(program, 3), world);
    feed_from(executor, 0);
    executor.run();
    const auto mine = copy_of(executor.fetch(made.dropped));
    std::vector<float> all(mine.size() * static_cast<std::size_t>(world.size()));
    world.all_gather(std::span<const float>(mine), std::span(all));
    for (std::size_t first = mine.size(); first < all.size(); first += mine.size())
        EXPECT_FALSE(std::equal(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(mine.size()),
                                all.begin() + static_cast<std::ptrdiff_t>(first)));
    const auto whole = dropping_classifier(dropout_part * static_cast<std::size_t>(world.size()));
    Executor expected(whole.program, State(whole.program, 3));
    feed_from(expected, 0);
    expected.run();
    EXPECT_EQ(all, copy_of(expected.fetch(whole.dropped)));
}

}  // namespace
}  // namespace dtrain
