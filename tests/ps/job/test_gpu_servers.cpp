// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: in sync mode one process on the CPU that accumulates the same batches, within the tolerances of
// trained_networks.hpp, and the same job once more, bit by bit; in the other modes each trainer's gradients
// are counted once, and one trainer is almost one process. All servers share the one GPU. Runs at 1 to 7
// ranks, split into servers and trainers in each way.
#include <gmock/gmock.h>

#include "gpu/a_gpu.hpp"
#include "network_job.hpp"
#include "support/message_of.hpp"

namespace dtrain {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using tests::message_of;

const ExecutorOptions on_cpu{.device = Device::cpu(), .threads = 1};

TrainedNetwork classifier_with(const std::string& name, const Optimizer& optimizer, double tolerance) {
    return {name,
            [optimizer](Program& program, std::int64_t batch) {
                auto made = make_classifier(batch, "tanh");
                program = made.program;
                minimize(program, made.cross_entropy.loss, optimizer);
                return made.cross_entropy.loss;
            },
            feed_samples, tolerance};
}

void expect_one_process(int servers, const TrainedNetwork& network, const Job& job) {
    const auto given = trained_with(servers, network, job);
    if (!given) return;
    const auto expected = trained_by_one(network.name == "SparseModel" ? sparse_model(false) : network,
                                         test_world().size() - servers, test_world().rank() - servers);
    expect_alike(*given, expected, loss_tolerance, network.tolerance);
}

class GpuServers : public tests::OnAGpu, public testing::WithParamInterface<TrainedNetwork> {};

TEST_P(GpuServers, TrainAsOneProcessOnACpu) {
    for (int servers = 1; servers < test_world().size(); ++servers) {
        SCOPED_TRACE(servers);
        expect_one_process(servers, GetParam(), {.executor = on_cpu, .servers = Device::gpu()});
    }
}

INSTANTIATE_TEST_SUITE_P(Networks, GpuServers,
                         testing::Values(mlp_with_adam(), momentum_with_a_schedule(), sparse_model(true)),
                         [](const auto& each) { return each.param.name; });

struct AGpuServer : tests::OnAGpu {};

TEST_F(AGpuServer, HasEveryOptimizer) {
    const int servers = test_world().size() / 2;
    if (servers == 0) return;
    for (const auto& network : {classifier_with("Sgd", Sgd{0.1}, 5e-5),
                                classifier_with("Momentum", Momentum{.learning_rate = 0.05}, 5e-5),
                                classifier_with("Adagrad", Adagrad{0.05}, 1e-3),
                                classifier_with("Adam", Adam{.learning_rate = 0.002}, 1e-3),
                                classifier_with("AdamW", AdamW{.learning_rate = 0.002}, 1e-3),
                                classifier_with("Ftrl", Ftrl{}, 1e-3)}) {
        SCOPED_TRACE(network.name);
        expect_one_process(servers, network, {.executor = on_cpu, .servers = Device::gpu()});
    }
}

TEST_F(AGpuServer, HasTheSameBitsEachTime) {
    const int servers = test_world().size() / 2;
    if (servers == 0) return;
    for (const auto& network : {momentum_with_a_schedule(), sparse_model(true)})
        expect_the_bits(trained_with(servers, network, {.executor = on_cpu, .servers = Device::gpu()}),
                        trained_with(servers, network, {.executor = on_cpu, .servers = Device::gpu()}));
}

TEST_F(AGpuServer, HasTrainersOnGpus) {
    const int servers = test_world().size() / 2;
    if (servers == 0) return;
    for (const auto& network : {momentum_with_a_schedule(), sparse_model(true)})
        expect_one_process(servers, network, {.servers = Device::gpu(0)});
}

TEST_F(AGpuServer, CountsEachGradientOnceInEveryMode) {
    for (const auto mode : {ServerMode::sync, ServerMode::async, ServerMode::half_async, ServerMode::geo})
        expect_each_gradient_once({.mode = mode, .threads = 1, .device = Device::gpu()});
    expect_each_gradient_once(
        {.mode = ServerMode::async, .most_merged = 4, .threads = 1, .device = Device::gpu()});
    expect_each_gradient_once(
        {.mode = ServerMode::half_async, .staleness = 3, .threads = 1, .device = Device::gpu()});
}

TEST_F(AGpuServer, OfOneTrainerIsAlmostOneProcessInEveryMode) {
    const int servers = test_world().size() - 1;
    if (servers == 0) return;
    for (const auto mode : {ServerMode::async, ServerMode::half_async, ServerMode::geo}) {
        SCOPED_TRACE(to_string(mode));
        for (const auto& network : {sparse_model(true), momentum_with_a_schedule()})
            expect_one_process(servers, network,
                               {.mode = mode, .executor = on_cpu, .servers = Device::gpu()});
    }
}

TEST_F(AGpuServer, SaysWhichServerHasNoGpu) {
    if (test_world().size() < 2) return;
    const ServerRanks ranks(test_world(), 1);
    const auto transpiler = transpiled(ranks, linear_program(), ServerMode::sync);
    if (!ranks.serves()) return;
    EXPECT_THAT(message_of([&] { serve(ranks, transpiler, {.device = Device::gpu(999)}); }),
                AllOf(StartsWith("parameter server 0 on "), HasSubstr(": there is no GPU 999")));
}

}  // namespace
}  // namespace dtrain
