// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: training that was not interrupted: the same bits.
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/nn.hpp>

#include "digit_like.hpp"
#include "networks.hpp"
#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"

namespace dtrain::nn {
namespace {

using testing::HasSubstr;
using tests::message_of;

struct Training {
    Sequential network{Linear(16, 8, {.name = "first"}), Dropout(0.3), ReLU(),
                       Linear(8, 4, {.name = "second"})};
    Optimizer adam{Adam{0.01}, network.parameters()};

    void run(int steps) {
        const auto data = digit_like(20);
        const DataLoader loader(data, {.batch_size = 20});
        for (int step = 0; step < steps; ++step)
            for (const auto& [id, x, y] : loader(0)) {
                cross_entropy(network(x), y).backward();
                adam.step();
                adam.zero_grad();
            }
    }

    std::vector<float> values() const {
        std::vector<float> all;
        for (const auto& parameter : network.parameters())
            all.insert(all.end(), parameter.values().begin(), parameter.values().end());
        return all;
    }
};

Training made(std::uint64_t with_seed) {
    seed(with_seed);
    return {};
}

TEST(Checkpoints, TrainingGoesOnWithTheSameBits) {
    const tests::TemporaryFolder folder;
    auto whole = made(3);
    whole.run(5);
    save(folder.path() / "half.h5", whole.network, &whole.adam);
    whole.run(5);

    auto resumed = made(3);
    resumed.run(1);  // whatever it had is replaced
    load(folder.path() / "half.h5", resumed.network, &resumed.adam);
    resumed.run(5);
    EXPECT_EQ(resumed.values(), whole.values());

    auto used = made(8);
    load(folder.path() / "half.h5", used.network);
    EXPECT_NE(used.values(), whole.values());
}

// Trains one after a save and one after the load: the same bits in the end.
template <class Network, class Data>
void expect_to_go_on(const std::function<Network()>& make, const Data& data, const Shape& sample) {
    const tests::TemporaryFolder folder;
    const auto path = folder.path() / "half.h5";
    const auto run = [&](Layer& network, Optimizer& adam, int epochs) {
        const DataLoader loader(data, {.batch_size = 16, .sample = sample});
        for (int epoch = 0; epoch < epochs; ++epoch)
            for (const auto& [id, x, y] : loader(epoch)) {
                cross_entropy(network(x), y).backward();
                adam.step();
                adam.zero_grad();
            }
    };
    const auto values_of = [](const Layer& network) {
        std::vector<std::vector<float>> all;
        for (const auto& parameter : network.parameters())
            all.emplace_back(parameter.values().begin(), parameter.values().end());
        return all;
    };
    seed(3);
    auto whole = make();
    Optimizer adam(Adam{0.01}, whole.parameters());
    run(whole, adam, 2);
    save(path, whole, &adam);
    const auto half = values_of(whole);
    run(whole, adam, 2);

    seed(4);
    auto resumed = make();
    Optimizer other(Adam{0.01}, resumed.parameters());
    load(path, resumed, &other);
    EXPECT_EQ(values_of(resumed), half);
    run(resumed, other, 2);
    EXPECT_EQ(values_of(resumed), values_of(whole));
    EXPECT_NE(half, values_of(whole));

    const auto checkpoint = load_checkpoint(path);
    for (const auto& parameter : whole.parameters()) {
        const auto found = checkpoint.parameters.find(parameter.name());
        ASSERT_NE(found, checkpoint.parameters.end()) << parameter.name();
        EXPECT_EQ(found->second.shape, parameter.shape()) << parameter.name();
    }
}

TEST(Checkpoints, OfImagesAndWords) {
    expect_to_go_on<Sequential>(image_network, digit_like(32, 64), {1, 8, 8});
    expect_to_go_on<WordNetwork>([] { return WordNetwork(); }, word_like(32), {5});
}

TEST(Checkpoints, ThatDoNotFitChangeNothing) {
    const tests::TemporaryFolder folder;
    const auto path = folder.path() / "other.h5";
    seed(1);
    Sequential other{Linear(16, 8, {.name = "first"}), Dropout(0.3), Linear(8, 5, {.name = "second"})};
    save(path, other);
    auto training = made(1);
    training.run(1);
    const auto before = training.values();
    EXPECT_THAT(message_of([&] { load(path, training.network); }),
                HasSubstr("other.h5: 'second.weight' is float32 [8, 5], expected float32 [8, 4]"));
    EXPECT_EQ(training.values(), before);
    save(path, training.network);
    EXPECT_THAT(message_of([&] { load(path, training.network, &training.adam); }),
                HasSubstr("it has no 'adam.step'"));
    EXPECT_EQ(training.values(), before);
    EXPECT_THROW(load(folder.path() / "nowhere.h5", training.network), UsageError);

    Sequential twice{Linear(2, 2, {.name = "same"}), Linear(2, 2, {.name = "same"})};
    EXPECT_THAT(message_of<ProgramError>([&] { save(path, twice); }), HasSubstr("'same.weight'"));
}

}  // namespace
}  // namespace dtrain::nn
