// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: executors on the CPU with the same program, data, seed and ranks, within the tolerances of
// trained_networks.hpp; one rank's parameters against the others', virtual ranks against those of one rank,
// and training that went wrong in between against training that did not, bit by bit. All ranks share the one
// GPU, and MPI adds. Runs at 1, 2 and 4 ranks.
#include <gmock/gmock.h>

#include <dtrain/passes.hpp>

#include "gpu/a_gpu.hpp"
#include "kernels/data_errors.hpp"
#include "program/runtime/near_states.hpp"
#include "program/runtime/parallel_training.hpp"
#include "program/runtime/trained_networks.hpp"
#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

constexpr std::size_t gpu_steps = 24;
constexpr std::size_t gpu_part = 8;
constexpr double loss_tolerance = 1e-4;

const ExecutorOptions on_cpu{.device = Device::cpu()};
const ExecutorOptions on_gpu{.device = Device::gpu()};

struct Trained {
    State state;
    std::vector<float> losses;
};

/// With `batches` of `part` samples of each rank for an update.
Trained train(const TrainedNetwork& network, ExecutorOptions options, std::int64_t bucket_bytes,
              int batches = 1) {
    const tests::Batches given{gpu_part, batches};
    std::string loss;
    const auto program = tests::parallel_program(network, given, bucket_bytes, loss);
    options.keep = {loss};
    Trained trained{State(program, 5), {}};
    Executor executor(program, trained.state, test_world(), options);
    tests::train_in_parallel(network, executor, given, gpu_steps,
                             [&] { trained.losses.push_back(executor.fetch_scalar(loss)); });
    return trained;
}

/// Each of `parts` virtual ranks has `part` samples of a step.
Trained train_virtually(const TrainedNetwork& network, ExecutorOptions options, const Communicator& ranks,
                        int parts) {
    Program program;
    const auto loss = network.build(program, gpu_part);
    options.keep = {loss};
    program = with_virtual_ranks(program, parts);
    Trained trained{State(program, 5), {}};
    Executor executor(program, trained.state, ranks, options);
    const auto [begin, end] = executor.virtual_ranks();
    for (std::size_t step = 0; step < gpu_steps; ++step) {
        for (int own = begin; own < end; ++own) {
            network.feed(executor,
                         (step * static_cast<std::size_t>(parts) + static_cast<std::size_t>(own)) * gpu_part);
            executor.accumulate();
            trained.losses.push_back(executor.fetch_scalar(loss));
        }
        executor.update();
    }
    return trained;
}

void expect_alike(const Trained& given, const Trained& expected, double tolerance) {
    for (std::size_t i = 0; i < expected.losses.size(); ++i)
        EXPECT_NEAR(given.losses[i], expected.losses[i], loss_tolerance) << i;
    tests::expect_near(given.state, expected.state, tolerance);
}

class GpuRanks : public tests::OnAGpu, public testing::WithParamInterface<TrainedNetwork> {};

TEST_P(GpuRanks, TrainAsOnCpus) {
    for (const std::int64_t bucket_bytes : {0, 20'000, 1 << 20}) {
        const auto given = train(GetParam(), on_gpu, bucket_bytes);
        EXPECT_TRUE(parameters_are_identical(given.state, test_world())) << bucket_bytes;
        expect_alike(given, train(GetParam(), on_cpu, bucket_bytes), GetParam().tolerance);
    }
}

TEST_P(GpuRanks, TrainAsOnCpusWithSeveralBatchesForAnUpdate) {
    const auto given = train(GetParam(), on_gpu, 20'000, 3);
    EXPECT_TRUE(parameters_are_identical(given.state, test_world()));
    expect_alike(given, train(GetParam(), on_cpu, 20'000, 3), GetParam().tolerance);
}

TEST_P(GpuRanks, TakeStepsByThemselvesAsOnCpus) {
    for (const std::int64_t every : {1, 5}) {
        const auto given = tests::train_locally(GetParam(), on_gpu, every, gpu_steps, gpu_part);
        EXPECT_TRUE(parameters_are_identical(given, test_world())) << every;
        tests::expect_near(given, tests::train_locally(GetParam(), on_cpu, every, gpu_steps, gpu_part),
                           GetParam().tolerance);
        auto one_by_one = on_gpu;
        one_by_one.profile = true;
        EXPECT_EQ(
            parameters_checksum(tests::train_locally(GetParam(), one_by_one, every, gpu_steps, gpu_part)),
            parameters_checksum(given))
            << every;
    }
}

TEST_P(GpuRanks, HaveTheSameBitsWhateverOverlaps) {
    auto options = on_gpu;
    const auto plain = train(GetParam(), options, 20'000);
    options.overlap = false;
    const auto waiting = train(GetParam(), options, 20'000);
    options.profile = true;
    const auto one_by_one = train(GetParam(), options, 20'000);
    EXPECT_EQ(parameters_checksum(waiting.state), parameters_checksum(plain.state));
    EXPECT_EQ(parameters_checksum(one_by_one.state), parameters_checksum(plain.state));
}

TEST_P(GpuRanks, OfVirtualOnesHaveTheBitsOfOneRankAndLearnAsOnCpus) {
    const auto& world = test_world();
    for (const int parts : {4, 5, 8}) {
        const auto given = train_virtually(GetParam(), on_gpu, world, parts);
        const auto by_one = train_virtually(GetParam(), on_gpu, {}, parts);
        EXPECT_EQ(parameters_checksum(given.state), parameters_checksum(by_one.state)) << parts;
        expect_alike(given, train_virtually(GetParam(), on_cpu, world, parts), GetParam().tolerance);
    }
    auto options = on_gpu;
    options.profile = true;
    EXPECT_EQ(parameters_checksum(train_virtually(GetParam(), options, world, 4).state),
              parameters_checksum(train_virtually(GetParam(), on_gpu, world, 4).state));
}

INSTANTIATE_TEST_SUITE_P(Networks, GpuRanks,
                         testing::Values(mlp_with_adam(), momentum_with_a_schedule(), dropout_classifier(),
                                         image_classifier(), click_through_model(),
                                         click_through_model(true)),
                         [](const auto& each) { return each.param.name; });

struct GpuOfRanks : tests::OnAGpu {
    TrainedNetwork network = momentum_with_a_schedule();
    Program program;
    std::string loss = network.build(program, gpu_part);
};

TEST_F(GpuOfRanks, TakesParametersThatOneRankSends) {
    const auto& world = test_world();
    const State state(program, 5 + static_cast<std::uint64_t>(world.rank()));
    Executor executor(program, state, {}, on_gpu);
    network.feed(executor, 0);
    executor.run();
    broadcast(state, world);
    EXPECT_TRUE(parameters_are_identical(state, world));
    network.feed(executor, gpu_part);
    executor.run();
    EXPECT_TRUE(parameters_are_identical(state, world)) << "it went on with those";
    network.feed(executor, gpu_part * static_cast<std::size_t>(world.rank() + 2));
    executor.run();
    average_parameters(state, world);
    EXPECT_TRUE(parameters_are_identical(state, world));
}

TEST_F(GpuOfRanks, RefuseOneCopyOfTheParameters) {
    const auto& world = test_world();
    if (world.size() == 1) GTEST_SKIP() << "needs two ranks";
    const auto one_copy = data_parallel(program, {.ranks = world.size(), .one_copy = true});
    EXPECT_THAT(
        message_of<ProgramError>([&] { Executor(one_copy, State(one_copy, 1, world), world, on_gpu); }),
        HasSubstr("a GPU does not do one copy of the parameters for the ranks of a node (one_copy) yet"));
}

TEST_F(GpuOfRanks, TellABadIdBeforeItsRowsAreExchanged) {
    const auto model = click_through_model(true);
    Program plain;
    model.build(plain, gpu_part);
    const auto twice = data_parallel(plain, {.micro_batches = 2});
    const auto trained = [&](bool stumbles) {
        const State own(twice, 5);
        Executor executor(twice, own, {}, on_gpu);
        for (std::size_t number = 0; number < 4; ++number) {
            if (stumbles) {
                model.feed(executor, 0);
                executor.feed<std::int64_t>("item")[2] = 60;
                EXPECT_EQ(message_of<Error>([&] { executor.accumulate(); }), kernels::id_outside(60, 2, 60));
            }
            model.feed(executor, number * gpu_part);
            executor.accumulate();
            if (number % 2 == 1) executor.update();
        }
        return parameters_checksum(own);
    };
    EXPECT_EQ(trained(true), trained(false)) << "it goes on with the other batches";
}

TEST_F(GpuOfRanks, GoOnAfterABadLabelOfVirtualOnes) {
    const auto& world = test_world();
    const auto virtually = with_virtual_ranks(program, 2 * world.size());
    const auto learn = [&](bool stumbles) {
        State state(virtually, 5);
        Executor executor(virtually, state, world, on_gpu);
        const auto update = [&](std::size_t first, bool is_bad) {
            for (std::size_t number = 0; number < 2; ++number) {
                network.feed(executor, first + number * gpu_part);
                if (is_bad) executor.feed<std::int64_t>("label")[3] = 10;
                executor.accumulate();
            }
            executor.update();
        };
        update(static_cast<std::size_t>(world.rank()) * gpu_part, false);
        if (stumbles) {
            const auto before = parameters_checksum(state);
            EXPECT_EQ(message_of<Error>([&] {
                          update(0, true);
                          state.tensors();
                      }),
                      "label 10 in row 3 of the batch is outside of the 10 classes 0..9");
            EXPECT_EQ(parameters_checksum(state), before);
        }
        update(100, false);
        return parameters_checksum(state);
    };
    EXPECT_EQ(learn(true), learn(false));
}

TEST_F(GpuOfRanks, SayTogetherThatOneHasNoGpu) {
    const auto& world = test_world();
    const auto parallel = data_parallel(program, {.ranks = world.size()});
    const bool is_last = world.rank() + 1 == world.size();
    EXPECT_THAT(message_of([&] {
                    Executor(parallel, State(parallel, 1), world, {.device = Device::gpu(is_last ? 77 : 0)});
                }),
                HasSubstr("77"));
}

}  // namespace
}  // namespace dtrain
