// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: one process that trains the whole global batch. Runs at 1 to 4 ranks.
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/executor.hpp>
#include <dtrain/passes.hpp>

#include "program/runtime/classifier.hpp"
#include "support/message_of.hpp"
#include "support/on_gpu.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

constexpr std::size_t samples = 1792;

/// Of all ranks of the test together, which have equal parts of it: 64, or a little less.
std::size_t global_batch() {
    const auto ranks = static_cast<std::size_t>(test_world().size());
    return 64 / ranks * ranks;
}

// One epoch of whole batches; rank r has rows [r B/n, (r+1) B/n) of each.
State train(const Communicator& world, const Optimizer& optimizer, std::int64_t bucket_bytes,
            const ExecutorOptions& options = {}, const std::string& activation = "relu") {
    const auto ranks = static_cast<std::size_t>(world.size());
    const auto batch = global_batch() / ranks;
    auto made = make_classifier(static_cast<std::int64_t>(batch), activation);
    minimize(made.program, made.cross_entropy.loss, optimizer);
    const auto program = data_parallel(made.program, {.ranks = world.size(), .bucket_bytes = bucket_bytes});
    State state(program, 1);
    Executor executor(program, state, world, options);
    for (std::size_t first = 0; first + global_batch() <= samples; first += global_batch()) {
        feed_samples(executor, first + static_cast<std::size_t>(world.rank()) * batch);
        executor.run();
    }
    return state;
}

double difference_of_parameters(const State& a, const State& b) {
    double largest = 0;
    for (const auto& tensor : a.tensors()) {
        if (tensor.role != Role::parameter) continue;
        const auto mine = tensor.view.as<float>();
        const auto others = b.find(tensor.name)->view.as<float>();
        for (std::size_t i = 0; i < mine.size(); ++i)
            largest = std::max(largest, std::fabs(static_cast<double>(mine[i]) - others[i]));
    }
    return largest;
}

class DataParallelTraining : public testing::TestWithParam<std::int64_t> {};

TEST_P(DataParallelTraining, EqualsOneProcessWithTheWholeBatch) {
    const auto& world = test_world();
    const struct {
        const char* name;
        Optimizer optimizer;
    } cases[] = {{"sgd", Sgd{.learning_rate = 0.05}},
                 {"momentum", Momentum{.learning_rate = 0.01}},
                 {"adam", Adam{.learning_rate = 0.001}}};
    for (const auto& [name, optimizer] : cases) {
        const auto alone = train({}, optimizer, GetParam());
        const auto together = train(world, optimizer, GetParam());
        EXPECT_LT(difference_of_parameters(alone, together), 1e-5) << name;
        EXPECT_TRUE(parameters_are_identical(together, world)) << name;
        const auto again = train(world, optimizer, GetParam());
        EXPECT_EQ(parameters_checksum(together), parameters_checksum(again))
            << name << ": runs repeat bit for bit";
        const auto untrained = State(make_classifier(1).program, 1);
        EXPECT_GT(difference_of_parameters(together, untrained), 1e-2) << name << ": it did train";
    }
}

INSTANTIATE_TEST_SUITE_P(BucketBytes, DataParallelTraining, testing::Values(0, 20'000, 1 << 20));

TEST(DataParallelExecutor, OverlapChangesNoResult) {
    const auto& world = test_world();
    const auto with = train(world, Adam{}, 20'000, {.overlap = true}, "tanh");
    const auto without = train(world, Adam{}, 20'000, {.overlap = false}, "tanh");
    EXPECT_LT(difference_of_parameters(with, without), 1e-5);
    EXPECT_TRUE(parameters_are_identical(without, world));
}

TEST(DataParallelExecutor, FetchesAveragedGradients) {
    const auto& world = test_world();
    const auto program_for = [](std::int64_t batch, int ranks) {
        auto made = make_classifier(batch);
        minimize(made.program, made.cross_entropy.loss, Sgd{});
        return data_parallel(made.program, {.ranks = ranks});
    };
    const auto whole_program = program_for(static_cast<std::int64_t>(global_batch()), 1);
    Executor whole(whole_program, State(whole_program, 1));
    feed_samples(whole, 0);
    whole.run();
    const auto batch = global_batch() / static_cast<std::size_t>(world.size());
    const auto program = program_for(static_cast<std::int64_t>(batch), world.size());
    Executor part(program, State(program, 1), world);
    feed_samples(part, static_cast<std::size_t>(world.rank()) * batch);
    part.run();
    for (const std::string name : {"fc_0.weight@grad", "fc_2.bias@grad"}) {
        const auto expected = whole.fetch(name);
        const auto given = part.fetch(name);
        for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(given[i], expected[i], 1e-6) << name;
    }
}

TEST(DataParallelState, LocalSgdAveragesParametersAndNothingElse) {
    const auto& world = test_world();
    auto made = make_classifier(16);
    minimize(made.program, made.cross_entropy.loss, Adam{.learning_rate = 0.002});
    const State state(made.program, 1);
    Executor executor(made.program, state);
    for (std::size_t step = 0; step < 60; ++step) {
        feed_samples(
            executor,
            (step * static_cast<std::size_t>(world.size()) + static_cast<std::size_t>(world.rank())) * 16);
        executor.run();
        if (step % 6 != 5) continue;
        const auto before = executor.fetch("fc_2.bias")[3];
        const auto moment = executor.fetch("fc_2.bias.moment1")[3];
        average_parameters(state, world);
        EXPECT_FLOAT_EQ(executor.fetch("fc_2.bias")[3],
                        static_cast<float>(world.sum(double{before}) / world.size()));
        EXPECT_EQ(executor.fetch("fc_2.bias.moment1")[3], moment);
        EXPECT_TRUE(parameters_are_identical(state, world));
    }
    EXPECT_LT(executor.fetch_scalar(made.cross_entropy.loss), 0.5F) << "it learns";
}

class OneCopy : public testing::TestWithParam<int> {};

TEST_P(OneCopy, TrainsAsOneProcessWithTheWholeBatch) {
    if (tests::executors_are_on_a_gpu()) GTEST_SKIP() << "a GPU does not do one_copy";
    const auto& world = test_world();
    const Optimizer optimizers[] = {Sgd{.learning_rate = 0.05}, Momentum{.learning_rate = 0.01},
                                    Adam{.learning_rate = 0.001}};
    const auto& optimizer = optimizers[GetParam()];
    const auto ranks = static_cast<std::size_t>(world.size());
    const auto batch = global_batch() / ranks;
    auto made = make_classifier(static_cast<std::int64_t>(batch));
    minimize(made.program, made.cross_entropy.loss, optimizer);
    const auto program = data_parallel(made.program, {.ranks = world.size(), .one_copy = true});
    const State state(program, 1, world);
    EXPECT_EQ(state.is_shared(), world.size() > 1);
    Executor executor(program, state, world);
    for (std::size_t first = 0; first + global_batch() <= samples; first += global_batch()) {
        feed_samples(executor, first + static_cast<std::size_t>(world.rank()) * batch);
        executor.run();
    }
    const auto alone = train({}, optimizer, 1 << 20);
    EXPECT_LT(difference_of_parameters(alone, state), 1e-5);
    EXPECT_TRUE(parameters_are_identical(state, world));
    EXPECT_LT(difference_of_parameters(alone, state.clone()), 1e-5);
    EXPECT_FALSE(state.clone().is_shared());
    if (const auto* step = state.find("adam.step")) {
        EXPECT_EQ(step->view.as<std::int64_t>()[0], samples / global_batch()) << "it counts once a step";
    }
    world.barrier();  // nobody changes what others still compare
}

INSTANTIATE_TEST_SUITE_P(Optimizers, OneCopy, testing::Values(0, 1, 2));

TEST(Ranks, ThatExchangeNothingAreRefusedUnlessItIsMeant) {
    const auto& world = test_world();
    auto made = make_classifier(8);
    const auto untrained = made.program;
    minimize(made.program, made.cross_entropy.loss, Sgd{.learning_rate = 0.05});
    const auto refused = [&](const Program& program, const Communicator& ranks,
                             const ExecutorOptions& options = {}) {
        return tests::message_of<ProgramError>([&] { Executor(program, State(program, 1), ranks, options); });
    };
    const auto expected =
        world.size() == 1
            ? ""
            : "the program updates parameters, and the " + std::to_string(world.size()) +
                  " ranks of the executor's communicator exchange nothing in it: each would train a model of "
                  "its own. Give the executor what data_parallel(), with_virtual_ranks() or with_local_sgd() "
                  "makes of the program; or set ExecutorOptions::updates_alone, if that is meant";
    EXPECT_EQ(refused(made.program, world), expected);
    EXPECT_EQ(refused(data_parallel(made.program, {.ranks = 1}), world), expected) << "of one rank";
    EXPECT_EQ(refused(made.program, {}), "");
    EXPECT_EQ(refused(untrained, world), "") << "nothing is updated";
    for (const auto& together : {data_parallel(made.program, {.ranks = world.size()}),
                                 with_virtual_ranks(made.program, world.size()),
                                 with_local_sgd(made.program, {.ranks = world.size(), .every = 2})})
        EXPECT_EQ(refused(together, world), "");
    const State state(made.program, 1);
    Executor alone(made.program, state, world, {.updates_alone = true});
    feed_samples(alone, static_cast<std::size_t>(world.rank()) * 8);
    alone.run();
    EXPECT_EQ(parameters_are_identical(state, world), world.size() == 1);
    average_parameters(state, world);
    EXPECT_TRUE(parameters_are_identical(state, world));
}

TEST(OneCopy, SaysWhatDoesNotFit) {
    const auto& world = test_world();
    auto made = make_classifier(8);
    minimize(made.program, made.cross_entropy.loss, Sgd{});
    const auto in_shards = data_parallel(made.program, {.ranks = world.size(), .one_copy = true});
    const auto plain = data_parallel(made.program, {.ranks = world.size()});
    const State shared(in_shards, 1, world);
    if (world.size() > 1) {
        EXPECT_THROW(Executor(in_shards, State(in_shards, 1), world), ProgramError)
            << "the state is the rank's own";
        EXPECT_THROW(Executor(plain, shared, world), ProgramError) << "the state is shared";
    }
    EXPECT_THROW(data_parallel(in_shards, {.ranks = world.size()}), ProgramError) << "twice";
    world.barrier();
}

TEST(OneCopy, IsBroadcastToAllNodes) {
    const auto& world = test_world();
    auto made = make_classifier(4);
    minimize(made.program, made.cross_entropy.loss, Adam{});
    const auto program = data_parallel(made.program, {.ranks = world.size(), .one_copy = true});
    const State expected(made.program, 77);
    for (int root = 0; root < world.size(); ++root) {
        const State state(program, 1, world);
        const auto* step = state.find("adam.step");
        EXPECT_FALSE(state.shares(*step));
        EXPECT_EQ(state.shares(*state.find("fc_0.weight")), world.size() > 1);
        if (world.rank() == root) {
            for (const auto& tensor : state.tensors())
                std::memcpy(tensor.view.data, expected.find(tensor.name)->view.data, tensor.view.bytes());
            step->view.as<std::int64_t>()[0] = 5;
        }
        world.barrier();
        broadcast(state, world, root);
        EXPECT_EQ(parameters_checksum(state), parameters_checksum(expected)) << root;
        EXPECT_EQ(step->view.as<std::int64_t>()[0], 5);
        world.barrier();
    }
}

TEST(DataParallelState, BroadcastAndChecksumsCompareRanks) {
    const auto& world = test_world();
    auto made = make_classifier(4);
    minimize(made.program, made.cross_entropy.loss, Adam{});
    const State state(made.program, static_cast<std::uint64_t>(100 + world.rank()));
    state.find("adam.step")->view.as<std::int64_t>()[0] = world.rank() + 5;
    EXPECT_EQ(parameters_are_identical(state, world), world.size() == 1);
    broadcast(state, world, world.size() - 1);
    EXPECT_TRUE(parameters_are_identical(state, world));
    const State of_last(made.program, static_cast<std::uint64_t>(100 + world.size() - 1));
    EXPECT_EQ(parameters_checksum(state), parameters_checksum(of_last));
    EXPECT_EQ(state.find("adam.step")->view.as<std::int64_t>()[0], world.size() - 1 + 5);
}

}  // namespace
}  // namespace dtrain
