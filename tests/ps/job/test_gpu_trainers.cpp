// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: in sync mode one process on the CPU that accumulates the same batches, within the tolerances of
// trained_networks.hpp, and the same job once more, bit by bit; in the other modes each trainer's gradients
// are counted once, and one trainer of geo mode is almost one process. Data that are wrong change nothing on
// the servers. All trainers share the one GPU. Runs at 1 to 7 ranks, split into servers and trainers in each
// way.
#include <gmock/gmock.h>

#include "gpu/a_gpu.hpp"
#include "network_job.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using tests::message_of;

class GpuTrainers : public tests::OnAGpu, public testing::WithParamInterface<TrainedNetwork> {};

TEST_P(GpuTrainers, TrainAsOneProcessOnACpu) {
    for (int servers = 1; servers < test_world().size(); ++servers) {
        SCOPED_TRACE(servers);
        const auto given = trained_with(servers, GetParam());
        if (!given) continue;
        const auto trainers = test_world().size() - servers;
        const auto expected =
            trained_by_one(GetParam().name == "SparseModel" ? sparse_model(false) : GetParam(), trainers,
                           test_world().rank() - servers);
        expect_alike(*given, expected, loss_tolerance, GetParam().tolerance);
    }
}

TEST_P(GpuTrainers, HaveTheSameBitsEachTimeAndWhateverOverlaps) {
    const int servers = test_world().size() / 2;
    if (servers == 0) return;
    const auto plain = trained_with(servers, GetParam());
    expect_the_bits(trained_with(servers, GetParam()), plain);
    const ExecutorOptions one_by_one{.device = Device::gpu(), .threads = 1, .profile = true};
    expect_the_bits(trained_with(servers, GetParam(), {.executor = one_by_one}), plain);
    const ExecutorOptions small{
        .device = Device::gpu(), .threads = 1, .memory_optimize = true, .skip_grads = true};
    expect_the_bits(trained_with(servers, GetParam(), {.executor = small}), plain);
    expect_the_bits(trained_with(servers, GetParam(), {.meets = true}), plain);
}

INSTANTIATE_TEST_SUITE_P(Networks, GpuTrainers,
                         testing::Values(mlp_with_adam(), momentum_with_a_schedule(), image_classifier(),
                                         click_through_model(), sparse_model(true)),
                         [](const auto& each) { return each.param.name; });

struct AGpuTrainer : tests::OnAGpu {};

TEST_F(AGpuTrainer, GetsPrefetchedRows) {
    const int servers = test_world().size() / 2;
    if (servers == 0) return;
    expect_the_bits(trained_with(servers, sparse_model(true), {.prefetches = true}),
                    trained_with(servers, sparse_model(true)));
}

TEST_F(AGpuTrainer, CountsEachGradientOnceInEveryMode) {
    for (const auto mode : {ServerMode::sync, ServerMode::async, ServerMode::half_async, ServerMode::geo})
        expect_each_gradient_once({.mode = mode, .threads = 1}, Device::gpu());
    expect_each_gradient_once({.mode = ServerMode::async, .most_merged = 4, .threads = 1}, Device::gpu());
    expect_each_gradient_once({.mode = ServerMode::half_async, .staleness = 3, .threads = 1}, Device::gpu());
}

TEST_F(AGpuTrainer, AloneIsAlmostOneProcessInEveryMode) {
    const int servers = test_world().size() - 1;
    if (servers == 0) return;
    for (const auto& job :
         {Job{.mode = ServerMode::async}, Job{.mode = ServerMode::half_async}, Job{.mode = ServerMode::geo},
          Job{.mode = ServerMode::geo, .push_every = 7}, Job{.mode = ServerMode::geo, .push_every = 100},
          Job{.mode = ServerMode::geo, .push_every = 7, .meets = true},
          Job{.mode = ServerMode::async, .meets = true}}) {
        SCOPED_TRACE(to_string(job.mode));
        for (const auto& network : {sparse_model(true), momentum_with_a_schedule()}) {
            const auto given = trained_with(servers, network, job);
            if (!given) continue;
            const auto expected =
                trained_by_one(network.name == "SparseModel" ? sparse_model(false) : network, 1, 0);
            expect_alike(*given, expected, loss_tolerance, network.tolerance);
        }
    }
}

TEST_F(AGpuTrainer, LearnsFromLateParameters) {
    const int servers = test_world().size() - 1;
    if (servers == 0) return;
    const auto network = momentum_with_a_schedule();
    const auto given = trained_with(servers, network, {.mode = ServerMode::async, .most_merged = 4});
    if (!given) return;
    const auto expected = trained_by_one(network, 1, 0);
    EXPECT_NEAR(given->losses.back(), expected.losses.back(), 0.5 * expected.losses.front());
}

TEST_F(AGpuTrainer, SendsNothingOfABatchThatIsWrong) {
    const int servers = test_world().size() - 1;
    if (servers == 0) return;
    const auto network = momentum_with_a_schedule();
    Program program;
    const auto loss = network.build(program, part);
    const ServerRanks ranks(test_world(), servers);
    const auto transpiler = transpiled(ranks, program, ServerMode::sync);
    const ServerJobOptions options{.seed = seed, .threads = 1};
    if (ranks.serves()) return serve(ranks, transpiler, options);
    ServerConnection connection(ranks, transpiler, options);
    const auto trainer = transpiler.get_trainer_program();
    const State state(trainer, 77);
    connection.pull_parameters(state);
    Executor executor(trainer, state, {},
                      {.device = Device::gpu(), .keep = {loss}, .servers = connection.link()});
    for (int step = 0; step < steps; ++step) {
        if (step == 3 || step == 7) {
            network.feed(executor, 0);
            executor.feed<std::int64_t>("label")[3] = 10;
            EXPECT_THAT(message_of<Error>([&] { executor.run(); }),
                        HasSubstr("label 10 in row 3 of the batch is outside of the 10 classes 0..9"));
            connection.pull_parameters(state);
        }
        network.feed(executor, static_cast<std::size_t>(step * part));
        executor.run();
    }
    const auto parameters = parameters_of(state);
    for (const auto& [name, wanted] : trained_by_one(network, 1, 0).parameters)
        for (std::size_t i = 0; i < wanted.size(); ++i)
            ASSERT_NEAR(parameters.at(name)[i], wanted[i], network.tolerance) << name << ' ' << i;
    connection.leave();
}

}  // namespace
}  // namespace dtrain
