// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the same training with gradients that MPI adds: at two ranks, whose sums have one order, bit by
// bit; at four within the tolerances of trained_networks.hpp. The parts of a step counted by hand. On
// stand-ins for the GPU and for NCCL; all ranks share the one GPU. Runs at 1, 2 and 4 ranks.
#include <algorithm>
#include <cstdlib>

#include <gmock/gmock.h>

#include "comm/nccl/nccl_stand_in.hpp"
#include "gpu/a_gpu.hpp"
#include "program/runtime/near_states.hpp"
#include "program/runtime/parallel_training.hpp"
#include "program/state/state_access.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;

constexpr std::size_t steps = 12;
constexpr std::size_t part = 8;
constexpr std::int64_t small_buckets = 1000;

const ExecutorOptions over_mpi{.device = Device::gpu(0)};
const ExecutorOptions over_nccl{.device = Device::gpu(0), .nccl = true};

struct Trained {
    State state;
    float loss = 0;
    std::size_t graphs_run = 0;
    std::vector<std::string> captured;  ///< the parts of the last graph
    std::string device;
    bool sees_exchanges = true;
};

class GpuNccl : public tests::OnAGpu {
  protected:
    void SetUp() override {
        OnAGpu::SetUp();
        if (IsSkipped()) return;
        if (!gpu->description().ends_with("this processor")) GTEST_SKIP() << "NCCL's stand-in reaches no GPU";
        nccl_stand_in::connect();
        nccl_stand_in::reset();
        nccl_stand_in::script().join_polls = nccl_stand_in::script().issue_polls = 2;
    }

    void TearDown() override { EXPECT_THAT(nccl_stand_in::seen().wrong, testing::IsEmpty()); }

    /// With `batches` of `part` samples of each rank for an update.
    static Trained train(const TrainedNetwork& network, ExecutorOptions options, std::int64_t bucket_bytes,
                         int batches = 1) {
        const tests::Batches given_batches{part, batches};
        std::string loss;
        const auto program = tests::parallel_program(network, given_batches, bucket_bytes, loss);
        options.keep = {loss};
        Trained trained{State(program, 5)};
        Executor executor(program, trained.state, test_world(), options);
        tests::train_in_parallel(network, executor, given_batches, steps, [] {});
        trained.loss = executor.fetch_scalar(loss);
        const auto& given = program::StateAccess::on_gpu(trained.state)->gpu()->given();
        trained.graphs_run = given.graphs_run;
        trained.captured = given.last_captured;
        trained.device = executor.device();
        trained.sees_exchanges = executor.sees_exchanges();
        return trained;
    }

    static void expect_alike(const Trained& given, const Trained& expected, double tolerance) {
        if (test_world().size() <= 2) {
            EXPECT_EQ(given.loss, expected.loss);
            EXPECT_EQ(parameters_checksum(given.state), parameters_checksum(expected.state));
            return;
        }
        EXPECT_NEAR(given.loss, expected.loss, 1e-4);
        tests::expect_near(given.state, expected.state, tolerance);
    }

    static bool is_alone() { return test_world().size() == 1; }
};

class GpuNcclTraining : public GpuNccl, public testing::WithParamInterface<TrainedNetwork> {};

TEST_P(GpuNcclTraining, IsOneRunOfOneRecordingAStepAndHasTheBitsOfSumsByMpi) {
    for (const auto bucket_bytes : {std::int64_t{1} << 20, small_buckets}) {
        const auto expected = train(GetParam(), over_mpi, bucket_bytes);
        const auto given = train(GetParam(), over_nccl, bucket_bytes);
        expect_alike(given, expected, GetParam().tolerance);
        EXPECT_TRUE(parameters_are_identical(given.state, test_world()));
        EXPECT_EQ(given.graphs_run, steps);
        EXPECT_EQ(expected.graphs_run > steps, !is_alone()) << "this test can tell";
        EXPECT_EQ(given.sees_exchanges, is_alone());
        EXPECT_TRUE(expected.sees_exchanges);
    }
}

TEST_P(GpuNcclTraining, AveragesParametersOfStepsAlone) {
    for (const std::int64_t every : {1, 5}) {
        const auto expected = tests::train_locally(GetParam(), over_mpi, every, steps, part);
        const auto given = tests::train_locally(GetParam(), over_nccl, every, steps, part);
        EXPECT_TRUE(parameters_are_identical(given, test_world())) << every;
        if (test_world().size() <= 2)
            EXPECT_EQ(parameters_checksum(given), parameters_checksum(expected)) << every;
        else
            tests::expect_near(given, expected, GetParam().tolerance);
    }
}

INSTANTIATE_TEST_SUITE_P(Networks, GpuNcclTraining,
                         testing::Values(mlp_with_adam(), momentum_with_a_schedule(), dropout_classifier()),
                         [](const auto& each) { return each.param.name; });

TEST_F(GpuNccl, SumsOfABucketBeginBeforeTheBackwardEnds) {
    const auto given = train(momentum_with_a_schedule(), over_nccl, small_buckets);
    const auto sums = std::ranges::count(given.captured, "NCCL");
    if (is_alone()) {
        EXPECT_EQ(sums, 0);
        return;
    }
    EXPECT_GT(sums, 1);
    const auto first_sum = std::ranges::find(given.captured, "NCCL");
    EXPECT_NE(std::find(first_sum, given.captured.end(), "MatrixProduct"), given.captured.end())
        << testing::PrintToString(given.captured);
}

TEST_F(GpuNccl, AddsTheGradientsOfSeveralBatches) {
    const auto expected = train(mlp_with_adam(), over_mpi, small_buckets, 3);
    const auto given = train(mlp_with_adam(), over_nccl, small_buckets, 3);
    expect_alike(given, expected, mlp_with_adam().tolerance);
    EXPECT_TRUE(parameters_are_identical(given.state, test_world()));
    EXPECT_EQ(given.graphs_run, steps * 4) << "a run for each batch, and one for the update";
}

// Rows go over MPI between the sums: graphs end there, and wait for what they have started.
TEST_F(GpuNccl, SparseGradientsAreExchangedBetweenRecordings) {
    const TrainedNetwork sparse{
        "Sparse",
        [](Program& program, std::int64_t batch) {
            const auto ids = layers::data(program, "ids", {batch}, DataType::int64);
            const auto y = layers::data(program, "y", {batch, 1});
            const auto rows = layers::embedding(program, ids, 30, 6, {.is_sparse = true});
            const auto hidden = layers::fc(program, rows, 8, {.activation = "tanh"});
            const auto loss = layers::mse_loss(program, layers::fc(program, hidden, 1), y);
            minimize(program, loss, Sgd{.learning_rate = 0.1});
            return loss;
        },
        [](Executor& executor, std::size_t first) {
            const auto ids = executor.feed<std::int64_t>("ids");
            for (std::size_t i = 0; i < ids.size(); ++i) {
                ids[i] = static_cast<std::int64_t>((first + i) * 7 % 30);
                executor.feed<float>("y")[i] = static_cast<float>((first + i) % 5) * 0.2F;
            }
        }};
    for (const auto bucket_bytes : {std::int64_t{1} << 20, std::int64_t{64}}) {
        const auto expected = train(sparse, over_mpi, bucket_bytes);
        const auto given = train(sparse, over_nccl, bucket_bytes);
        expect_alike(given, expected, sparse.tolerance);
        EXPECT_TRUE(parameters_are_identical(given.state, test_world()));
    }
}

TEST_F(GpuNccl, OutsideOfTheRecordingWhenOneRankIsTold) {
    const auto expected = train(mlp_with_adam(), over_nccl, small_buckets);
    if (test_world().rank() == test_world().size() - 1) ::setenv("DTRAIN_NCCL_GRAPH", "0", 1);
    const auto given = train(mlp_with_adam(), over_nccl, small_buckets);
    ::unsetenv("DTRAIN_NCCL_GRAPH");
    EXPECT_EQ(parameters_checksum(given.state), parameters_checksum(expected.state));
    if (is_alone()) return;
    EXPECT_GT(given.graphs_run, steps);
    EXPECT_TRUE(given.sees_exchanges);
    EXPECT_THAT(given.device,
                HasSubstr("(sums by NCCL outside of the CUDA graph: DTRAIN_NCCL_GRAPH is 0 on rank " +
                          std::to_string(test_world().size() - 1) + ")"));
    EXPECT_THAT(expected.device, testing::Not(HasSubstr("NCCL")));
}

TEST_F(GpuNccl, OneByOneHasTheSameBits) {
    auto options = over_nccl;
    const auto expected = train(mlp_with_adam(), options, small_buckets);
    options.profile = true;
    EXPECT_EQ(parameters_checksum(train(mlp_with_adam(), options, small_buckets).state),
              parameters_checksum(expected.state));
    options.profile = false;
    options.overlap = false;
    EXPECT_EQ(parameters_checksum(train(mlp_with_adam(), options, small_buckets).state),
              parameters_checksum(expected.state));
}

}  // namespace
}  // namespace dtrain
