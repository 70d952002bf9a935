// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the executor on the CPU, with the same program, data and seed, within the tolerances stated here;
// bits where both sides are on the GPU. On the stand-in, or on a GPU with DTRAIN_GPU_MODULE=libdtrain_gpu.so.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/metrics.hpp>
#include <dtrain/passes.hpp>

#include "gpu/a_gpu.hpp"
#include "program/device/gpu_choice.hpp"
#include "program/runtime/copy_of.hpp"
#include "program/runtime/near_states.hpp"
#include "program/runtime/trained_networks.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::expect_near;
using tests::message_of;

constexpr std::size_t steps = 24;
constexpr std::int64_t batch = 16;
/// Of a loss of about 2: sums in another order, in 24 steps.
constexpr double loss_tolerance = 1e-4;

const ExecutorOptions on_cpu{.device = Device::cpu()};
const ExecutorOptions on_gpu{.device = Device::gpu(0)};

struct Trained {
    State state;
    std::vector<float> losses;
};

Trained train(const TrainedNetwork& network, ExecutorOptions options, bool looks = true) {
    Program program;
    const auto loss = network.build(program, batch);
    options.keep = {loss};
    Trained trained{State(program, 5), {}};
    Executor executor(program, trained.state, {}, options);
    for (std::size_t step = 0; step < steps; ++step) {
        network.feed(executor, step * batch);
        executor.run();
        if (looks || step + 1 == steps) trained.losses.push_back(executor.fetch_scalar(loss));
    }
    return trained;
}

class GpuTraining : public tests::OnAGpu, public testing::WithParamInterface<TrainedNetwork> {};

TEST_P(GpuTraining, IsThatOfTheCpu) {
    const auto expected = train(GetParam(), on_cpu);
    const auto given = train(GetParam(), on_gpu);
    for (std::size_t step = 0; step < steps; ++step)
        EXPECT_NEAR(given.losses[step], expected.losses[step], loss_tolerance) << step;
    EXPECT_LT(expected.losses.back(), 0.9F * expected.losses.front()) << "it learns";
    expect_near(given.state, expected.state, GetParam().tolerance);
}

// The next batch is written as soon as run() has returned, while nothing may have been computed yet.
TEST_P(GpuTraining, NeedsNobodyWhoWaits) {
    const auto watched = train(GetParam(), on_gpu);
    const auto alone = train(GetParam(), on_gpu, false);
    EXPECT_EQ(alone.losses.back(), watched.losses.back());
    EXPECT_EQ(parameters_checksum(alone.state), parameters_checksum(watched.state));
}

TEST_P(GpuTraining, HasTheSameBitsInOtherMemoryAndOneByOne) {
    auto options = on_gpu;
    const auto plain = train(GetParam(), options);
    options.memory_optimize = true;
    EXPECT_EQ(parameters_checksum(train(GetParam(), options, false).state), parameters_checksum(plain.state));
    options.profile = true;
    EXPECT_EQ(parameters_checksum(train(GetParam(), options, false).state), parameters_checksum(plain.state));
}

INSTANTIATE_TEST_SUITE_P(Networks, GpuTraining,
                         testing::Values(mlp_with_adam(), momentum_with_a_schedule(), dropout_classifier(),
                                         image_classifier(), click_through_model(),
                                         click_through_model(true)),
                         [](const auto& each) { return each.param.name; });

class GpuExecutor : public tests::OnAGpu {
  protected:
    GpuExecutor() : loss(network.build(program, batch)), state(program, 5) {}

    void step(Executor& executor, std::size_t number) const {
        network.feed(executor, number * batch);
        executor.run();
    }

    TrainedNetwork network = momentum_with_a_schedule();
    Program program;
    std::string loss;
    State state;
};

// What a program with one operator computes does not show how it was computed: this does.
TEST_F(GpuExecutor, ComputesWithWhatWasWrittenToTheState) {
    const auto changed = [&](const ExecutorOptions& options) {
        const State own(program, 5);
        Executor executor(program, own, {}, options);
        for (std::size_t number = 0; number < 3; ++number) step(executor, number);
        for (auto& value : own.find("fc_2.bias")->view.as<float>()) value += 1;
        step(executor, 3);
        for (const auto& tensor : own.tensors())
            if (tensor.name == "fc_0.bias")
                for (auto& value : tensor.view.as<float>()) value -= 1;
        step(executor, 4);
        EXPECT_FLOAT_EQ(executor.fetch("fc_0.bias")[0], own.find("fc_0.bias")->view.as<float>()[0]);
        step(executor, 5);
        return own;
    };
    expect_near(changed(on_gpu), changed(on_cpu), network.tolerance);
}

TEST_F(GpuExecutor, SharesItsStateWithExecutorsOnBothDevices) {
    const auto test_program = for_test(program, {loss});
    Executor train(program, state, {}, on_gpu);
    Executor test_on_gpu(test_program, state, {}, {.device = Device::gpu()});
    Executor test_on_cpu(test_program, state, {}, on_cpu);
    Executor train_on_cpu(program, state, {}, on_cpu);
    float before = 0;
    for (std::size_t number = 0; number < 6; ++number) {
        step(number % 3 == 2 ? train_on_cpu : train, number);
        step(test_on_gpu, 100);
        step(test_on_cpu, 100);
        EXPECT_NEAR(test_on_gpu.fetch_scalar(loss), test_on_cpu.fetch_scalar(loss), loss_tolerance) << number;
        EXPECT_NE(test_on_cpu.fetch_scalar(loss), before) << "there was a step";
        before = test_on_cpu.fetch_scalar(loss);
    }
}

TEST_F(GpuExecutor, IsOnOneGpuAtMost) {
    Executor executor(program, state, {}, on_gpu);
    EXPECT_EQ(message_of([&] { Executor(program, state, {}, {.device = Device::gpu(7)}); }),
              "the state is on GPU 0 for another executor, and this one is to compute on GPU 7: give it that "
              "device, or State::clone()");
}

TEST_F(GpuExecutor, ClonesAreWhatWasTrained) {
    Executor executor(program, state, {}, on_gpu);
    const auto untrained = parameters_checksum(state);
    step(executor, 0);
    const auto clone = state.clone();
    const auto sum = parameters_checksum(clone);
    EXPECT_NE(sum, untrained);
    EXPECT_EQ(sum, parameters_checksum(state));
    step(executor, 1);
    EXPECT_EQ(parameters_checksum(clone), sum);
    Executor of_the_clone(program, clone, {}, on_gpu);
    step(of_the_clone, 1);
    EXPECT_EQ(parameters_checksum(clone), parameters_checksum(state));
}

TEST_F(GpuExecutor, TellsABadLabelWhenSomebodyWaits) {
    constexpr auto expected = "label 10 in row 3 of the batch is outside of the 10 classes 0..9";
    const auto before = parameters_checksum(state);
    Executor executor(program, state, {}, on_gpu);
    const auto bad_step = [&](Executor& one) {
        network.feed(one, 0);
        one.feed<std::int64_t>("label")[3] = 10;
        one.run();
    };
    bad_step(executor);
    EXPECT_EQ(message_of<Error>([&] { executor.fetch(loss); }), expected);
    EXPECT_EQ(parameters_checksum(state), before);
    bad_step(executor);
    step(executor, 1);
    EXPECT_EQ(message_of<Error>([&] { state.tensors(); }), expected);
    EXPECT_EQ(parameters_checksum(state), before) << "nor has the next step changed anything";
    step(executor, 0);
    EXPECT_NE(parameters_checksum(state), before) << "it goes on";
    const auto after = parameters_checksum(state);
    {
        Executor gone(program, state, {}, on_gpu);
        bad_step(gone);
    }
    EXPECT_EQ(message_of<Error>([&] { state.find("fc_0.bias"); }), expected);
    EXPECT_EQ(parameters_checksum(state), after);
}

TEST_F(GpuExecutor, AddsTheGradientsOfSeveralBatches) {
    const auto accumulated = [&](const ExecutorOptions& options) {
        const State own(program, 5);
        Executor executor(program, own, {}, options);
        for (std::size_t update = 0; update < 3; ++update) {
            for (std::size_t part = 0; part < 3; ++part) {
                network.feed(executor, (update * 3 + part) * batch);
                executor.accumulate();
            }
            executor.update();
        }
        step(executor, 9);
        return own;
    };
    expect_near(accumulated(on_gpu), accumulated(on_cpu), network.tolerance);
}

TEST_F(GpuExecutor, CountsAndTimesItsOperators) {
    Executor executor(program, state, {}, {.device = Device::gpu(0), .profile = true});
    for (std::size_t number = 0; number < 3; ++number) step(executor, number);
    for (const auto& row : executor.profile()) {
        EXPECT_EQ(row.calls, 3) << row.type;
        EXPECT_GT(row.total.count(), 0) << row.type;
    }
}

TEST_F(GpuExecutor, MultipliesBfloat16WhateverTheCpuHas) {
    const auto exact = train(network, on_gpu);
    auto options = on_gpu;
    options.products = ComputeType::bfloat16;
    const auto rounded = train(network, options);
    EXPECT_NE(rounded.losses, exact.losses);
    EXPECT_NEAR(rounded.losses.back(), exact.losses.back(), 0.1);
}

TEST_F(GpuExecutor, RefusesWhatGpusDoNotDo) {
    const auto refused = [](const Program& given) {
        return message_of<ProgramError>([&] { Executor(given, State(given, 1), {}, on_gpu); });
    };
    Program sparse;
    const auto ids = layers::data(sparse, "ids", {4}, DataType::int64);
    const auto rows = layers::embedding(sparse, ids, 10, 3, {.is_sparse = true});
    minimize(sparse, layers::mean(sparse, rows), Sgd{});
    for (const auto& given : {program, sparse})
        EXPECT_EQ(
            refused(data_parallel(given, {.ranks = 1, .micro_batches = 2, .one_copy = true})),
            "a GPU does not do one copy of the parameters for the ranks of a node (one_copy) yet: compute "
            "on the CPU (device \"cpu\", or DTRAIN_DEVICE=cpu)");
}

TEST(ChoiceOfDevice, IsWhatWasAskedForThenTheEnvironmentThenTheCpu) {
    using program::device_to_use;
    EXPECT_EQ(device_to_use({}, {}), Device::cpu());
    EXPECT_EQ(device_to_use({}, {{"DTRAIN_DEVICE", ""}}), Device::cpu());
    EXPECT_EQ(device_to_use({}, {{"DTRAIN_DEVICE", "gpu"}}), Device::gpu());
    EXPECT_EQ(device_to_use({}, {{"DTRAIN_DEVICE", "gpu:12"}}), Device::gpu(12));
    EXPECT_EQ(device_to_use(Device::cpu(), {{"DTRAIN_DEVICE", "gpu:12"}}), Device::cpu());
    for (const auto& device : {Device::cpu(), Device::gpu(), Device::gpu(3)})
        EXPECT_EQ(device_of(to_string(device), ""), device);
    for (const std::string bad :
         {"GPU", "gpus", "gpu:", "gpu:-1", "gpu:1x", "gpu: 1", "gpu:99999999999", " "})
        EXPECT_EQ(message_of([&] {
                      device_to_use({}, {{"DTRAIN_DEVICE", bad}});
                  }),
                  "DTRAIN_DEVICE is '" + bad + "', expected cpu, gpu or gpu:NUMBER");
}

TEST(ChoiceOfDevice, IsTheGpuThatALauncherGaveOrTheCpuAndWhy) {
    using program::choose_device;
    using program::DeviceChoice;
    const Environment launched{{"FLAGS_selected_gpus", "2,3"}};
    int calls = 0;
    const auto nothing = [&] {
        ++calls;
        return std::string();
    };
    const auto no_driver = [&] {
        ++calls;
        return std::string("there is no driver");
    };
    EXPECT_EQ(choose_device({}, launched, nothing), (DeviceChoice{Device::gpu(), ""}));
    EXPECT_EQ(choose_device({}, launched, no_driver),
              (DeviceChoice{Device::cpu(),
                            "this rank was given GPU 2,3 (FLAGS_selected_gpus) and computes on the CPU: "
                            "there is no driver"}));
    EXPECT_EQ(calls, 2);
    // Who says something means it; and nobody looks for a driver.
    EXPECT_EQ(choose_device(Device::cpu(), launched, no_driver), (DeviceChoice{Device::cpu(), ""}));
    EXPECT_EQ(choose_device(Device::gpu(1), launched, no_driver), (DeviceChoice{Device::gpu(1), ""}));
    for (const auto* const device : {"cpu", "gpu:1"})
        EXPECT_EQ(choose_device({}, {{"FLAGS_selected_gpus", "0"}, {"DTRAIN_DEVICE", device}}, no_driver),
                  (DeviceChoice{device_of(device, ""), ""}));
    for (const auto& none : {Environment{}, Environment{{"FLAGS_selected_gpus", ""}}})
        EXPECT_EQ(choose_device({}, none, no_driver), (DeviceChoice{Device::cpu(), ""}));
    EXPECT_EQ(calls, 2);
}

using ChoiceOfGpu = tests::OnAGpu;

TEST_F(ChoiceOfGpu, IsTheLaunchersThenThatOfTheRanksNumberOrTheOnlyOne) {
    using program::open_gpu_of_rank;
    EXPECT_EQ(open_gpu_of_rank({}, {}, 0).number, 0);
    EXPECT_EQ(open_gpu_of_rank({}, {{"FLAGS_selected_gpus", "0,1"}}, 5).number, 0);
    EXPECT_EQ(open_gpu_of_rank(0, {{"FLAGS_selected_gpus", "77"}}, 5).number, 0);
    EXPECT_NE(message_of([] { open_gpu_of_rank({}, {{"FLAGS_selected_gpus", "77"}}, 0); }), "");
    EXPECT_THAT(message_of([] {
                    open_gpu_of_rank({}, {{"FLAGS_selected_gpus", "b"}}, 0);
                }),
                HasSubstr("FLAGS_selected_gpus=b"));
    EXPECT_NE(message_of([] { open_gpu_of_rank(77, {}, 0); }), "");
    if (!gpu->description().ends_with("this processor")) GTEST_SKIP() << "how many GPUs are there?";
    EXPECT_EQ(open_gpu_of_rank({}, {}, 3).number, 0) << "there is one for all ranks";
}

}  // namespace
}  // namespace dtrain
