// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the same training with gradients that MPI adds: at two ranks, whose sums have one order, bit by
// bit; at four within 1e-6 of a parameter. And a data-parallel Program on the CPU with sums by MPI: losses
// within 1e-4, parameters within 5e-5. On stand-ins for the GPU and for NCCL; all ranks share the one GPU.
// Runs at 1, 2 and 4 ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/layers.hpp>
#include <dtrain/nccl.hpp>
#include <dtrain/nn.hpp>
#include <dtrain/passes.hpp>

#include "comm/nccl/nccl_stand_in.hpp"
#include "digit_like.hpp"
#include "networks.hpp"
#include "nn/leaf.hpp"
#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain::nn {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using tests::message_of;

constexpr std::int64_t batch_size = 16;
constexpr std::int64_t epochs = 8;

struct Trained {
    std::vector<float> losses;
    std::vector<std::vector<float>> parameters;
    bool are_identical = false;
};

Sequential mlp() {
    seed(3);
    return Sequential{Linear(16, 32), Tanh(), Dropout(0.2), Linear(32, 8), ReLU(), Linear(8, 4)};
}

/// 24 steps.
template <class Network>
Trained train(Network network, const Dataset& data, const Shape& sample, const DataParallelOptions& options) {
    DataParallel parallel(network, test_world(), options);
    Optimizer optimizer(Momentum{.learning_rate = 0.05}, network.parameters());
    const DataLoader loader(data, {.batch_size = batch_size, .shuffle = true, .sample = sample},
                            test_world());
    Trained trained;
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
        for (const auto& batch : loader(epoch)) {
            const auto loss = cross_entropy(parallel(batch.x), batch.y);
            loss.backward();
            optimizer.step();
            optimizer.zero_grad();
            trained.losses.push_back(loss.item());
        }
    for (const auto& parameter : network.parameters())
        trained.parameters.emplace_back(parameter.values().begin(), parameter.values().end());
    trained.are_identical = parallel.parameters_are_identical();
    return trained;
}

void expect_alike(const Trained& given, const Trained& expected) {
    EXPECT_TRUE(given.are_identical);
    EXPECT_LT(given.losses.back(), given.losses.front()) << "what does not learn proves little";
    if (test_world().size() <= 2) {
        EXPECT_EQ(given.losses, expected.losses);
        EXPECT_EQ(given.parameters, expected.parameters);
        return;
    }
    EXPECT_THAT(given.losses, testing::Pointwise(testing::FloatNear(1e-5F), expected.losses));
    ASSERT_EQ(given.parameters.size(), expected.parameters.size());
    for (std::size_t i = 0; i < expected.parameters.size(); ++i)
        EXPECT_THAT(given.parameters[i],
                    testing::Pointwise(testing::FloatNear(1e-6F), expected.parameters[i]));
}

TEST(EagerNccl, HasTheBitsOfSumsByMpi) {
    const auto data = digit_like(40);
    for (const std::int64_t bucket_bytes : {4, 1000, 1'000'000}) {
        const auto expected = train(mlp(), data, {}, {.bucket_bytes = bucket_bytes});
        const auto operations = nccl_stand_in::seen().operations;
        expect_alike(train(mlp(), data, {}, {.bucket_bytes = bucket_bytes, .nccl = true}), expected);
        EXPECT_EQ(nccl_stand_in::seen().operations > operations, test_world().size() > 1);
    }
}

TEST(EagerNccl, WithBucketsWhoseSizeIsMeasured) {
    const auto data = digit_like(40);
    expect_alike(train(mlp(), data, {}, {.nccl = true}), train(mlp(), data, {}, {}));
}

TEST(EagerNccl, OfImagesAndWordsToo) {
    const auto made = [](auto make, const Dataset& data, const Shape& sample) {
        seed(5);
        const auto expected = train(make(), data, sample, {.bucket_bytes = 500});
        seed(5);
        expect_alike(train(make(), data, sample, {.bucket_bytes = 500, .nccl = true}), expected);
    };
    made(image_network, digit_like(40, 64), {1, 8, 8});
    made([] { return WordNetwork(); }, word_like(40), {5});
}

TEST(EagerNccl, LearnsWhatAProgramOnTheCpuLearnsByMpi) {
    const auto data = digit_like(48);
    const auto made = [] {
        seed(3);
        return Sequential{Linear(16, 32), Tanh(), Linear(32, 4)};
    };
    const auto given = train(made(), data, {}, {.bucket_bytes = 1000, .nccl = true});

    Program program;
    const auto rows = batch_size / test_world().size();
    const auto x = layers::data(program, "x", {rows, 16});
    const auto y = layers::data(program, "y", {rows}, DataType::int64);
    const auto hidden = layers::fc(program, x, 32, {.activation = "tanh"});
    const auto loss = layers::softmax_with_cross_entropy(program, layers::fc(program, hidden, 4), y).loss;
    minimize(program, loss, Momentum{.learning_rate = 0.05});
    program = data_parallel(program, {.ranks = test_world().size()});
    const State state(program, 3);
    Executor executor(program, state, test_world(), {.device = Device::cpu()});
    const DataLoader loader(data, {.batch_size = batch_size, .shuffle = true}, test_world());
    std::size_t step = 0;
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
        for (const auto& batch : loader(epoch)) {
            std::ranges::copy(batch.x.values(), executor.feed<float>("x").begin());
            std::ranges::copy(batch.y.values<std::int64_t>(), executor.feed<std::int64_t>("y").begin());
            executor.run();
            EXPECT_NEAR(given.losses.at(step++), executor.fetch_scalar(loss), 1e-4);
        }
    std::size_t number = 0;
    for (const auto& tensor : state.tensors()) {
        if (tensor.role != Role::parameter) continue;
        const auto expected = tensor.view.as<float>();
        EXPECT_THAT(given.parameters.at(number++),
                    testing::Pointwise(testing::FloatNear(5e-5F),
                                       std::vector<float>(expected.begin(), expected.end())))
            << tensor.name;
    }
    EXPECT_EQ(number, 4U);
}

/// Passes on what another watcher is told, and notes how many operations of NCCL there were by then.
class OperationsSeen final : public eager::GradientWatcher {
  public:
    explicit OperationsSeen(GradientWatcher& other) : other_(other) {}

    void ready(std::size_t number) override {
        seen = nccl_stand_in::seen().operations;
        other_.ready(number);
    }
    void finish() override {}

    int seen = 0;

  private:
    GradientWatcher& other_;
};

TEST(EagerNccl, SumsOfABucketBeginBeforeTheBackwardEnds) {
    if (test_world().size() == 1) GTEST_SKIP() << "one rank exchanges nothing";
    auto network = mlp();
    const DataParallel parallel(network, test_world(), {.bucket_bytes = 4, .nccl = true});
    auto& first = *network.parameters().front().leaf();
    OperationsSeen watcher(*first.watcher);
    first.watcher = &watcher;
    const auto before = nccl_stand_in::seen().operations;
    sum(network(Tensor::full({2, 16}, 1))).backward();
    EXPECT_GT(watcher.seen, before) << "the last gradient of the pass";
    EXPECT_GT(nccl_stand_in::seen().operations, watcher.seen);
}

TEST(EagerNccl, BucketsAreMemoryThatNcclKnows) {
    if (test_world().size() == 1) GTEST_SKIP() << "one rank exchanges nothing";
    auto network = mlp();
    {
        const DataParallel parallel(network, test_world(), {.bucket_bytes = 1000, .nccl = true});
        EXPECT_THAT(nccl_stand_in::seen().calls, testing::Contains("register"));
        sum(network(Tensor::full({2, 16}, 1))).backward();
    }
    EXPECT_EQ(nccl_stand_in::seen().calls.back(), "destroy");
    EXPECT_THAT(nccl_stand_in::seen().calls, testing::Contains("free"));
    sum(network(Tensor::full({2, 16}, 1))).backward();  // alone again
}

TEST(EagerNccl, IsNotThereWhereOneRankHasNoGpuAndMpiIs) {
    if (test_world().size() == 1) GTEST_SKIP() << "one rank exchanges nothing";
    auto network = mlp();
    nccl_stand_in::script().gpus = test_world().rank() == 1 ? 0 : 8;
    EXPECT_THAT(message_of([&] { DataParallel(network, test_world(), {.nccl = true}); }),
                AllOf(StartsWith("NCCL cannot add the gradients here: "), HasSubstr("leave nccl out")));
    const DataParallel parallel(network, test_world(), {.bucket_bytes = 1000});
    sum(network(Tensor::full({2, 16}, 1))).backward();
    EXPECT_TRUE(parallel.parameters_are_identical());
}

TEST(EagerNccl, ErrorsOfTheDataAreToldAlsoWhenItIsGone) {
    auto network = mlp();
    const auto labels = Tensor::full({2}, 4, DataType::int64);
    Tensor loss;
    {
        const DataParallel parallel(network, test_world(), {.bucket_bytes = 1000, .nccl = true});
        loss = cross_entropy(network(Tensor::full({2, 16}, 1)), labels);
        loss.backward();
    }
    EXPECT_EQ(message_of<Error>([&] { loss.item(); }),
              "label 4 in row 0 of the batch is outside of the 4 classes 0..3");
}

TEST(EagerNccl, ACommunicatorOverNcclIsRefused) {
    Linear linear(2, 2);
    const auto gpus = nccl_communicator(test_world(), {.device = 0});
    EXPECT_THAT(
        message_of<GpuCommunicatorError>([&] { DataParallel(linear, gpus); }),
        AllOf(StartsWith("DataParallel takes a communicator for memory of the host, and was given one for "
                         "memory of a GPU (NCCL 2.28.9 on GPU 0): "),
              EndsWith("give it the one over MPI that nccl_communicator() was made of, and "
                       "DataParallelOptions::nccl if NCCL is to average gradients on GPUs")));
}

}  // namespace
}  // namespace dtrain::nn
