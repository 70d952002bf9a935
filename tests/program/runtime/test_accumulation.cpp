// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: one process that trains whole batches; with virtual ranks, the bits of one process; for the tree, a
// recursion over it. Runs at 1, 2, 3 and 4 ranks.
#include <cmath>
#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/passes.hpp>

#include "gpu/a_gpu.hpp"
#include "program/exchange/gpu_sums.hpp"
#include "program/exchange/host_sums.hpp"
#include "program/exchange/tree_sum.hpp"
#include "program/runtime/classifier.hpp"
#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

constexpr std::size_t accumulation_steps = 12;

void expect_nearly_equal(const State& state, const State& expected) {
    for (const auto& tensor : state.tensors()) {
        const auto values = tensor.view.as<float>();
        const auto wanted = expected.find(tensor.name)->view.as<float>();
        for (std::size_t i = 0; i < values.size(); ++i)
            ASSERT_NEAR(values[i], wanted[i], 1e-5) << tensor.name;
    }
}

/// Trains on global batches of parts x part samples, part v of which is virtual rank v's.
State train_virtually(const Communicator& world, int parts, std::int64_t part, const Optimizer& optimizer,
                      const ExecutorOptions& options = {.threads = 1}) {
    auto made = make_classifier(part);
    minimize(made.program, made.cross_entropy.loss, optimizer);
    const auto program = with_virtual_ranks(made.program, parts);
    State state(program, 7);
    Executor executor(program, state, world, options);
    for (std::size_t step = 0; step < accumulation_steps; ++step) {
        const auto [begin, end] = executor.virtual_ranks();
        for (int v = begin; v < end; ++v) {
            feed_samples(executor, (step * static_cast<std::size_t>(parts) + static_cast<std::size_t>(v)) *
                                       static_cast<std::size_t>(part));
            executor.accumulate();
        }
        executor.update();
    }
    return state;
}

TEST(VirtualRanks, GiveTheSameBitsOnAnyNumberOfRanks) {
    const auto& world = test_world();
    for (const int parts : {4, 5, 8})
        for (const Optimizer& optimizer : {Optimizer(Sgd{.learning_rate = 0.1}), Optimizer(Adam{})}) {
            const auto alone = train_virtually({}, parts, 8, optimizer);
            const auto together = train_virtually(world, parts, 8, optimizer);
            EXPECT_EQ(parameters_checksum(together), parameters_checksum(alone)) << parts;
        }
}

TEST(VirtualRanks, TrainAsAWholeBatchDoes) {
    constexpr int parts = 4;
    const auto virtually = train_virtually(test_world(), parts, 8, Sgd{.learning_rate = 0.1});
    auto made = make_classifier(parts * 8);
    minimize(made.program, made.cross_entropy.loss, Sgd{.learning_rate = 0.1});
    const State whole(made.program, 7);
    Executor executor(made.program, whole, {}, {.threads = 1});
    for (std::size_t step = 0; step < accumulation_steps; ++step) {
        feed_samples(executor, step * parts * 8);
        executor.run();
    }
    expect_nearly_equal(virtually, whole);
}

TEST(VirtualRanks, AreEnoughForAllRanks) {
    const auto& world = test_world();
    if (world.size() == 1) GTEST_SKIP() << "one rank always has one";
    auto made = make_classifier(4);
    minimize(made.program, made.cross_entropy.loss, Sgd{});
    const auto program = with_virtual_ranks(made.program, world.size() - 1);
    EXPECT_THAT(message_of<UsageError>([&] { Executor(program, State(program, 1), world); }),
                HasSubstr("every rank needs one at least"));
}

TEST(VirtualRanks, EachHasItsBatchOnce) {
    auto made = make_classifier(4);
    minimize(made.program, made.cross_entropy.loss, Sgd{});
    const auto program = with_virtual_ranks(made.program, 2);
    Executor executor(program, State(program, 1));
    feed_samples(executor, 0);
    EXPECT_THROW(executor.update(), Error) << "no batch";
    executor.accumulate();
    EXPECT_THROW(executor.update(), Error) << "one is missing";
    executor.accumulate();
    EXPECT_THROW(executor.accumulate(), Error) << "that is one too many";
}

constexpr std::size_t elements = 10'000;

/// Where gradients are, and sums of them.
struct Gradients {
    std::function<void(const std::vector<float>&)> set;
    std::function<std::vector<float>()> get;
    program::TreeSum::MakeSums make_sums;
};

void expect_the_order_of_the_tree(const Gradients& gradients) {
    const auto& world = test_world();
    for (int parts = world.size(); parts < 2 * world.size() + 4; ++parts) {
        std::vector<std::vector<float>> given(static_cast<std::size_t>(parts), std::vector<float>(elements));
        std::mt19937 random(static_cast<unsigned>(parts));
        std::uniform_real_distribution<float> values(-1, 1);
        for (auto& each : given)
            for (auto& value : each) value = values(random) * std::pow(10.0F, 6 * values(random));
        const auto sum = [&](const auto& self, int begin, int end, std::size_t i) -> float {
            if (end - begin == 1) return given[static_cast<std::size_t>(begin)][i];
            const int middle = (begin + end) / 2;
            return self(self, begin, middle, i) + self(self, middle, end, i);
        };
        program::TreeSum tree(world, parts, elements, gradients.make_sums);
        for (int repeat = 0; repeat < 2; ++repeat) {
            for (int v = tree.own().begin; v < tree.own().end; ++v) {
                gradients.set(given[static_cast<std::size_t>(v)]);
                tree.add();
            }
            tree.finish();
            const auto out = gradients.get();
            for (std::size_t i = 0; i < elements; ++i)
                ASSERT_EQ(out[i], sum(sum, 0, parts, i)) << parts << " " << i;
        }
    }
}

TEST(TreeSum, AddsInTheOrderOfTheTree) {
    std::vector<float> host(elements);
    Gradients gradients;
    gradients.set = [&](const auto& values) { std::ranges::copy(values, host.begin()); };
    gradients.get = [&] { return host; };
    gradients.make_sums = [&](auto slots) { return std::make_unique<program::HostSums>(host, slots); };
    expect_the_order_of_the_tree(gradients);
}

using TreeSumOnAGpu = tests::OnAGpu;

TEST_F(TreeSumOnAGpu, AddsInTheOrderOfTheTree) {
    const auto memory = gpu->allocate(elements * sizeof(float));
    const std::span<float> device(reinterpret_cast<float*>(memory.get()), elements);
    Gradients gradients;
    gradients.set = [&](const auto& values) {
        gpu->to_gpu(device.data(), values.data(), device.size_bytes());
        gpu->finish();
    };
    gradients.get = [&] {
        std::vector<float> values(elements);
        gpu->to_host(values.data(), device.data(), device.size_bytes());
        gpu->finish();
        return values;
    };
    gradients.make_sums = [&](auto slots) { return std::make_unique<program::GpuSums>(gpu, device, slots); };
    expect_the_order_of_the_tree(gradients);
}

TEST(Accumulation, SeveralBatchesAreAsOneLargeOne) {
    const auto& world = test_world();
    constexpr int micro_batches = 3;
    constexpr std::int64_t part = 8;
    const auto parts = static_cast<std::size_t>(world.size() * micro_batches);
    auto made = make_classifier(part);
    minimize(made.program, made.cross_entropy.loss, Sgd{.learning_rate = 0.1});
    for (const std::int64_t bucket_bytes : {1 << 20, 0}) {
        const auto program = data_parallel(
            made.program,
            {.ranks = world.size(), .bucket_bytes = bucket_bytes, .micro_batches = micro_batches});
        const State state(program, 7);
        Executor executor(program, state, world);
        auto large = make_classifier(part * static_cast<std::int64_t>(parts));
        minimize(large.program, large.cross_entropy.loss, Sgd{.learning_rate = 0.1});
        const State whole(large.program, 7);
        Executor expected(large.program, whole);
        for (std::size_t step = 0; step < accumulation_steps; ++step) {
            const auto first = step * parts * part;
            feed_samples(expected, first);
            expected.run();
            for (std::size_t batch = 0; batch < micro_batches; ++batch) {
                feed_samples(executor,
                             first + (static_cast<std::size_t>(world.rank()) * micro_batches + batch) * part);
                if (batch + 1 < micro_batches)
                    executor.accumulate();
                else
                    executor.run();
            }
        }
        expect_nearly_equal(state, whole);
        EXPECT_TRUE(parameters_are_identical(state, world));
    }
}

}  // namespace
}  // namespace dtrain
