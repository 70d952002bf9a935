// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what eager_gpu.hpp and docs/gpu.md promise: counted copies, the texts of the CPU's kernels, the
// same bits whoever looks on. Skips where tensors are on the CPU.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/nn.hpp>

#include "digit_like.hpp"
#include "networks.hpp"
#include "nn/eager_device.hpp"
#include "support/message_of.hpp"

namespace dtrain::nn {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatEq;
using tests::message_of;

class GpuSteps : public testing::Test {
  protected:
    void SetUp() override {
        if (!get_device().is_gpu()) GTEST_SKIP() << "tensors are on the CPU: DTRAIN_DEVICE=gpu";
    }

    static const kernels::Gpu::Given& given() { return eager::own_device().gpu()->given(); }
};

void train_one(Layer& network, Optimizer& optim, const Batch& batch) {
    cross_entropy(network(batch.x), batch.y).backward();
    optim.step();
    optim.zero_grad();
}

void expect_batches_alone_to_be_copied(Layer& network, const Dataset& data, const Shape& sample,
                                       std::size_t copies, std::size_t bytes,
                                       const kernels::Gpu::Given& given) {
    const DataLoader loader(data, {.batch_size = 20, .shuffle = true, .sample = sample});
    Optimizer adam(Adam{0.01}, network.parameters());
    for (const auto& batch : loader(0)) train_one(network, adam, batch);
    const auto before = given;
    std::size_t steps = 0;
    for (std::int64_t epoch = 1; epoch < 4; ++epoch)
        for (const auto& batch : loader(epoch)) {
            train_one(network, adam, batch);
            ++steps;
        }
    EXPECT_EQ(given.down.count, before.down.count);
    EXPECT_EQ(given.up.count - before.up.count, copies * steps);
    EXPECT_EQ(given.up.bytes - before.up.bytes, bytes * steps);
    EXPECT_EQ(given.graphs_run - before.graphs_run, steps);  // all of step() at once
    const auto weights = network.parameters().front();
    static_cast<void>(weights.values());
    EXPECT_EQ(given.down.count, before.down.count + 1);
    static_cast<void>(weights.values());  // which nobody has changed since
    EXPECT_EQ(given.down.count, before.down.count + 1);
}

TEST_F(GpuSteps, CopyTheirBatchesAndNothingElse) {
    seed(1);
    constexpr std::size_t samples = 20;
    constexpr auto labels = samples * sizeof(std::int64_t);
    Sequential rows{Linear(16, 64), ReLU(), Dropout(0.5), Linear(64, 64), Dropout(0.1), Linear(64, 4)};
    expect_batches_alone_to_be_copied(rows, digit_like(80), {}, 2, samples * 16 * sizeof(float) + labels,
                                      given());
    auto images = image_network();
    expect_batches_alone_to_be_copied(images, digit_like(80, 64), {1, 8, 8}, 2,
                                      samples * 64 * sizeof(float) + labels, given());
    WordNetwork words;  // which casts here what has come from here
    expect_batches_alone_to_be_copied(words, word_like(80), {5}, 2,
                                      samples * 5 * sizeof(std::int64_t) + labels, given());
}

TEST_F(GpuSteps, AreTheSameWhoeverLooksOn) {
    const auto data = digit_like(45);
    const DataLoader loader(data, {.batch_size = 20});
    const auto trained = [&](bool looks) {
        seed(5);
        Sequential network{Linear(16, 32), Tanh(), Dropout(0.3), Linear(32, 4)};
        Optimizer adam(Adam{0.01}, network.parameters());
        for (std::int64_t epoch = 0; epoch < 8; ++epoch)
            for (const auto& [id, x, y] : loader(epoch)) {
                const auto loss = cross_entropy(network(x), y);
                EXPECT_TRUE(!looks || loss.item() > 0);
                loss.backward();
                EXPECT_TRUE(!looks || !network.parameters()[0].gradient().empty());  // may be written
                adam.step();
                adam.zero_grad();
                EXPECT_TRUE(!looks || !adam.state().tensors().empty());
            }
        std::vector<float> all;
        for (const auto& parameter : network.parameters())
            all.insert(all.end(), parameter.values().begin(), parameter.values().end());
        return all;
    };
    EXPECT_EQ(trained(true), trained(false));
}

TEST_F(GpuSteps, TakeWhatWasWrittenHere) {
    const Parameter p("p", {2}, Initializer::constant(3));
    Optimizer sgd(Sgd{1}, {p});
    sum(square(p)).backward();
    EXPECT_THAT(p.gradient(), Each(FloatEq(6)));
    std::ranges::fill(p.gradient(), 0.5F);
    sgd.step();
    EXPECT_THAT(p.values(), Each(FloatEq(2.5)));
    sum(p).backward();  // adds to what was written
    EXPECT_THAT(p.gradient(), Each(FloatEq(1.5)));

    const auto seen = Tensor(p).detach();
    for (const float value : {1.0F, 2.0F, 4.0F}) {
        p.set_values(std::vector<float>{value, value});
        const auto twice = p + p;
        p.set_values(std::vector<float>{9, 9});  // the GPU may not have looked yet
        EXPECT_THAT(twice.values(), Each(FloatEq(2 * value)));
        EXPECT_THAT(seen.values(), Each(FloatEq(9)));
    }
}

TEST_F(GpuSteps, OutliveWhatTheyWereGiven) {
    const Parameter p("p", {3}, Initializer::constant(1));
    for (int i = 0; i < 3; ++i) {
        Optimizer adam(Adam{0.5}, {p});  // goes while the GPU may not have begun
        sum(p).backward();
        adam.step();
        adam.zero_grad();
    }
    // The first step of an Adam is its learning rate, whatever the gradient's size.
    EXPECT_THAT(p.values(), Each(testing::FloatNear(-0.5F, 1e-3F)));
    std::vector<Tensor> made;
    for (int i = 0; i < 100; ++i) made.push_back(Tensor::full({50}, i) + Tensor::full({50}, 1));
    for (int i = 0; i < 100; ++i)
        ASSERT_THAT(made[static_cast<std::size_t>(i)].values(), Each(FloatEq(static_cast<float>(i + 1))));
}

TEST_F(GpuSteps, TellABadLabelWhenSomebodyWaits) {
    seed(1);
    Linear network(16, 4);
    Optimizer sgd(Sgd{0.1}, network.parameters());
    const auto x = randn({3, 16});
    const auto step = [&](const std::vector<std::int64_t>& labels) {
        auto loss = cross_entropy(network(x), Tensor::of(labels, {3}));
        loss.backward();
        sgd.step();
        sgd.zero_grad();
        return loss;
    };
    const auto first = step({0, 1, 2}).item();
    const std::vector<float> before(network.weight().values().begin(), network.weight().values().end());
    step({0, 10, 1});
    const auto after = step({0, 1, 2});  // changes nothing either
    EXPECT_EQ(message_of<Error>([&] { after.item(); }),
              "label 10 in row 1 of the batch is outside of the 4 classes 0..3");
    EXPECT_THAT(network.weight().values(), testing::ElementsAreArray(before));
    EXPECT_LT(step({0, 1, 2}).item(), first);
    EXPECT_NE(network.weight().values()[0], before[0]);
}

TEST_F(GpuSteps, TellABadIdWhereParametersAreRead) {
    Embedding table(5, 2);
    table(Tensor::of(std::vector<std::int64_t>{0, 4, 5}, {3}));
    sum(square(table.weight())).backward();
    EXPECT_EQ(message_of<Error>([&] { table.weight().gradient(); }),
              "id 5 at place 2 of the batch is outside of the table's rows 0..4");
    EXPECT_NO_THROW(table.weight().gradient());
}

TEST_F(GpuSteps, CountPastTheNumbersThatAreThere) {
    auto& device = eager::own_device();
    for (const std::int64_t number : {0, 1023, 1024, 5000, -1, -1024, -1025, 3})
        EXPECT_THAT(device.make_number(number).on_host().as<std::int64_t>(), ElementsAre(number));
}

}  // namespace
}  // namespace dtrain::nn
