// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: one rank that has the whole batch, within 1e-6 of a parameter (sums are made in another order), and
// averages worked out from what each rank is known to have used. Runs at 1, 2 and 4 ranks, with tensors on
// the CPU and on a GPU, and with gradients there that NCCL adds.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/nn.hpp>

#include "digit_like.hpp"
#include "networks.hpp"
#include "nn/eager_device.hpp"
#include "support/message_of.hpp"
#include "support/test_world.hpp"
#include "way_of_averages.hpp"

namespace dtrain::nn {
namespace {

using testing::Each;
using testing::FloatEq;
using testing::HasSubstr;
using tests::message_of;

Sequential network_of(std::uint64_t with_seed) {
    seed(with_seed);
    return Sequential{Linear(16, 32), ReLU(), Dropout(0.2), Linear(32, 4)};
}

void train(Layer& network, Optimizer& optim, const Communicator& communicator, const DataSource& data,
           std::int64_t epochs, const Shape& sample = {}) {
    const DataLoader loader(data, {.batch_size = 16, .shuffle = true, .sample = sample}, communicator);
    for (std::int64_t epoch = 0; epoch < epochs; ++epoch)
        for (const auto& [id, x, y] : loader(epoch)) {
            cross_entropy(network(x), y).backward();
            optim.step();
            optim.zero_grad();
        }
}

void train(Layer& network, const Communicator& communicator, const DataSource& data, std::int64_t epochs,
           const Shape& sample = {}) {
    Optimizer optim(Sgd{0.1}, network.parameters());
    train(network, optim, communicator, data, epochs, sample);
}

void expect_near(const Layer& one, const Layer& other) {
    const auto expected = other.parameters();
    const auto given = one.parameters();
    ASSERT_EQ(given.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i)
        for (std::size_t j = 0; j < expected[i].values().size(); ++j)
            ASSERT_NEAR(given[i].values()[j], expected[i].values()[j], 1e-6) << expected[i].name();
}

TEST(EagerRanks, PartsOfABatchLearnWhatTheWholeDoes) {
    const auto data = digit_like(40);  // batches of 16, 16 and 8: 1, 2 and 4 ranks divide them
    auto alone = network_of(1);
    train(alone, {}, data, 8);
    for (const std::int64_t bucket_bytes : {4, 1000, 1'000'000}) {
        auto shared = network_of(1);
        DataParallel parallel(shared, test_world(), parallel_options({.bucket_bytes = bucket_bytes}));
        train(parallel, test_world(), data, 8);
        expect_near(parallel, alone);
        EXPECT_TRUE(parallel.parameters_are_identical());
    }
}

TEST(EagerRanks, ImagesAndWordsToo) {
    const auto compare = [](const auto& make, const Dataset& data, std::int64_t epochs, const Shape& sample) {
        seed(1);
        auto alone = make();
        train(alone, {}, data, epochs, sample);
        seed(1);
        auto shared = make();
        DataParallel parallel(shared, test_world(), parallel_options({.bucket_bytes = 500}));
        train(parallel, test_world(), data, epochs, sample);
        expect_near(parallel, alone);
        EXPECT_TRUE(parallel.parameters_are_identical());
    };
    // Longer, and a last bit decides which of two pixels a pooling takes: 1e-7 becomes 4e-4 (seen with AVX).
    compare([] { return image_network(); }, digit_like(40, 64), 3, {1, 8, 8});
    compare([] { return WordNetwork(); }, word_like(40), 8, {5});
}

TEST(EagerRanks, TheLayerItselfMayBeCalled) {
    const auto data = digit_like(32);
    auto one = network_of(1);
    auto other = network_of(1);
    {
        const DataParallel parallel(one, test_world(), parallel_options({.bucket_bytes = 1000}));
        train(one, test_world(), data, 3);
    }
    DataParallel parallel(other, test_world(), parallel_options({.bucket_bytes = 1000}));
    train(parallel, test_world(), data, 3);
    for (std::size_t i = 0; i < one.parameters().size(); ++i)
        EXPECT_TRUE(std::ranges::equal(one.parameters()[i].values(), other.parameters()[i].values()));
}

TEST(EagerRanks, AllBeginWithThoseOfRank0) {
    auto network = network_of(static_cast<std::uint64_t>(10 + test_world().rank()));
    auto first = network_of(10);
    const DataParallel parallel(network, test_world(), parallel_options());
    for (std::size_t i = 0; i < network.parameters().size(); ++i)
        EXPECT_TRUE(std::ranges::equal(network.parameters()[i].values(), first.parameters()[i].values()));
}

class ThreeParameters : public Layer {
  public:
    Tensor forward(const Tensor& x) override { return x * all; }

    Parameter all = add_parameter("all", {2});
    Parameter some = add_parameter("some", {2});
    Parameter none = add_parameter("none", {2});
};

TEST(EagerRanks, ParametersThatSomeOrNoRanksUse) {
    const auto ranks = static_cast<float>(test_world().size());
    ThreeParameters layer;
    const DataParallel parallel(layer, test_world(), parallel_options({.bucket_bytes = 4}));
    const auto x = Tensor::full({2}, test_world().rank() + 1);
    for (int step = 0; step < 3; ++step) {
        auto result = layer(x);
        if (test_world().rank() == 0) result = result + layer.some * Tensor::full({2}, 6);
        sum(result).backward();
        EXPECT_THAT(layer.all.gradient(), Each(FloatEq((ranks + 1) / 2)));
        EXPECT_THAT(layer.some.gradient(), Each(FloatEq(6 / ranks)));
        EXPECT_FALSE(layer.none.has_gradient());
        for (const auto& parameter : layer.parameters()) parameter.zero_grad();
    }
}

TEST(EagerRanks, LossesThatLeaveTheLayerOutTakePartWithZeros) {
    const auto ranks = static_cast<float>(test_world().size());
    const bool is_last = test_world().rank() == test_world().size() - 1;
    const Parameter other("other", {2}, Initializer::constant(3));
    ThreeParameters layer;
    const DataParallel parallel(layer, test_world(),
                                parallel_options({.bucket_bytes = 4, .every_backward = true}));
    for (int step = 0; step < 3; ++step) {
        if (!is_last)
            sum(layer(Tensor::full({2}, 6))).backward();
        else if (step == 1)
            Tensor::full({1}, 7).backward();  // which depends on nothing
        else
            sum(square(other)).backward();
        EXPECT_EQ(other.has_gradient(), is_last);
        if (test_world().size() > 1) {
            EXPECT_THAT(layer.all.gradient(), Each(FloatEq(6 * (ranks - 1) / ranks)));
        } else {
            EXPECT_FALSE(layer.all.has_gradient());
        }
        EXPECT_FALSE(layer.none.has_gradient());
        for (const auto& parameter : layer.parameters()) parameter.zero_grad();
    }
}

TEST(EagerRanks, AStepWithoutAPassSaysWhatTheOthersWaitFor) {
    const Parameter other("other", {2}, Initializer::constant(3));
    ThreeParameters layer;
    const DataParallel parallel(layer, test_world(), parallel_options());
    Optimizer sgd(Sgd{1}, parallel.parameters());
    sum(square(other)).backward();  // on all ranks, so that none waits here
    const auto message = message_of<NoGradientError>([&] { sgd.step(); });
    EXPECT_THAT(message, HasSubstr("none of the 3 parameters has a gradient"));
    EXPECT_EQ(message.find("every_backward") != std::string::npos, test_world().size() > 1) << message;
    EXPECT_THROW(Tensor::full({1}, 7).backward(), NoGradientError);  // the options of the one before are gone
}

TEST(EagerRanks, WithinNoSyncGradientsAddUpUntilOneIsAveraged) {
    const auto rank = static_cast<float>(test_world().rank());
    const auto ranks = static_cast<float>(test_world().size());
    ThreeParameters layer;
    DataParallel parallel(layer, test_world(), parallel_options({.bucket_bytes = 4}));
    {
        const auto paused = parallel.no_sync();
        sum(layer.all * Tensor::full({2}, rank)).backward();
        sum(layer.some * Tensor::full({2}, rank)).backward();  // not used again below
    }
    EXPECT_THAT(layer.all.gradient(), Each(FloatEq(rank)));
    sum(parallel(Tensor::full({2}, 10))).backward();
    EXPECT_THAT(layer.all.gradient(), Each(FloatEq(10 + (ranks - 1) / 2)));
    EXPECT_THAT(layer.some.gradient(), Each(FloatEq((ranks - 1) / 2)));
    sum(parallel(Tensor::full({2}, 1))).backward();  // without zero_grad they add up
    EXPECT_THAT(layer.all.gradient(), Each(FloatEq(11 + (ranks - 1) / 2)));
}

TEST(EagerRanks, LocalSgdAveragesParameters) {
    const auto ranks = static_cast<float>(test_world().size());
    ThreeParameters layer;
    DataParallel parallel(layer, test_world(), parallel_options());
    Optimizer sgd(Sgd{1}, parallel.parameters());
    {
        const auto paused = parallel.no_sync();
        sum(parallel(Tensor::full({2}, test_world().rank()))).backward();
        sgd.step();
    }
    EXPECT_EQ(parallel.parameters_are_identical(), test_world().size() == 1);
    parallel.average_parameters();
    EXPECT_THAT(layer.all.values(), Each(FloatEq(-(ranks - 1) / 2)));
    EXPECT_TRUE(parallel.parameters_are_identical());
}

// Of a GPU each step brings every gradient once, and takes the averages and the batch; with NCCL the batch
// alone.
TEST(EagerRanks, AStepCopiesGradientsAndItsBatch) {
    if (!get_device().is_gpu()) GTEST_SKIP() << "tensors are on the CPU: DTRAIN_DEVICE=gpu";
    const auto& given = eager::own_device().gpu()->given();
    const auto data = digit_like(32);
    auto network = network_of(1);
    DataParallel parallel(network, test_world(), parallel_options({.bucket_bytes = 1000}));
    Optimizer optim(Sgd{0.1}, network.parameters());
    train(parallel, optim, test_world(), data, 2);
    constexpr std::size_t steps = 2 * 3;
    constexpr std::size_t gradients = sizeof(float) * (16 * 32 + 32 + 32 * 4 + 4);
    const auto rows = 16 / static_cast<std::size_t>(test_world().size());
    const auto batch = rows * (16 * sizeof(float) + sizeof(std::int64_t));
    const auto before = given;
    train(parallel, optim, test_world(), data, 3);
    const bool averages = test_world().size() > 1 && !averages_by_nccl;
    EXPECT_EQ(given.down.count - before.down.count, averages ? 4 * steps : 0);
    EXPECT_EQ(given.down.bytes - before.down.bytes, averages ? gradients * steps : 0);
    EXPECT_EQ(given.up.count - before.up.count, (averages ? 6 : 2) * steps);
    EXPECT_EQ(given.up.bytes - before.up.bytes, (batch + (averages ? gradients : 0)) * steps);
}

TEST(EagerRanks, BadLabelsAreToldByBackwardOrBefore) {
    auto network = network_of(1);
    DataParallel parallel(network, test_world(), parallel_options());
    const auto labels = Tensor::full({2}, 4, DataType::int64);
    EXPECT_EQ(message_of<Error>([&] {
                  const auto loss = cross_entropy(parallel(Tensor::full({2, 16}, 1)), labels);
                  loss.backward();
                  loss.item();
              }),
              "label 4 in row 0 of the batch is outside of the 4 classes 0..3");

    auto other = network_of(1);
    network.eval();
    other.eval();
    for (const auto& parameter : network.parameters()) parameter.zero_grad();
    const auto x = Tensor::full({2, 16}, 1);
    const auto good = Tensor::full({2}, 1, DataType::int64);
    cross_entropy(parallel(x), good).backward();
    cross_entropy(other(x), good).backward();
    for (std::size_t i = 0; i < network.parameters().size(); ++i)
        EXPECT_THAT(network.parameters()[i].gradient(),
                    testing::Pointwise(testing::FloatNear(1e-6F), other.parameters()[i].gradient()));
}

TEST(EagerRanks, TwoNetworksInOneLoss) {
    const auto data = digit_like(16);
    const DataLoader loader(data, {.batch_size = 16}, test_world());
    auto one = network_of(1);
    auto other = network_of(2);
    const DataParallel first(one, test_world(), parallel_options({.bucket_bytes = 500}));
    const DataParallel second(other, test_world(), parallel_options({.bucket_bytes = 500}));
    for (const auto& [id, x, y] : loader(0))
        (cross_entropy(one(x), y) + cross_entropy(other(x), y)).backward();
    std::vector<float> gradients;
    for (const auto* const network : {&one, &other})
        for (const auto& parameter : network->parameters())
            gradients.insert(gradients.end(), parameter.gradient().begin(), parameter.gradient().end());
    auto from_first = gradients;
    test_world().broadcast(std::span(from_first));
    EXPECT_EQ(gradients, from_first);
}

TEST(EagerRanks, BatchesThatRanksDoNotDivideRepeatSamples) {
    const auto ranks = test_world().size();
    const auto data = digit_like(9);
    const DataLoader loader(data, {.batch_size = 4}, test_world());
    std::vector<std::int64_t> rows;
    for (const auto& [id, x, y] : loader(0)) rows.push_back(x.shape()[0]);
    const auto each = [&](std::int64_t samples) { return (samples + ranks - 1) / ranks; };
    EXPECT_THAT(rows, testing::ElementsAre(each(4), each(4), each(1)));
    EXPECT_THAT(message_of([&] { DataLoader(data, {.batch_size = ranks - 1}, test_world()); }),
                HasSubstr("batch_size is"));
}

TEST(EagerRanks, Refusals) {
    Sequential empty{Flatten(), ReLU()};
    EXPECT_THAT(message_of([&] { DataParallel(empty, test_world(), parallel_options()); }),
                HasSubstr("no parameter"));
    Linear of_double(2, 2, {.type = DataType::float64});
    EXPECT_THAT(message_of([&] { DataParallel(of_double, test_world(), parallel_options()); }),
                HasSubstr("float64, expected float32"));
    if (test_world().size() == 1) return;
    Linear linear(2, 2);
    const DataParallel parallel(linear, test_world(), parallel_options());
    EXPECT_THAT(message_of([&] { DataParallel(linear, test_world(), parallel_options()); }),
                HasSubstr("averaged already"));
    Linear other(test_world().rank() == 0 ? 2 : 3, 2, {.name = "other"});
    EXPECT_THAT(message_of([&] { DataParallel(other, test_world(), parallel_options()); }),
                HasSubstr("different names or sizes"));
}

}  // namespace
}  // namespace dtrain::nn
