// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: training that was not interrupted: the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/nn.hpp>

#include "digit_like.hpp"
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
                adam.clear_grad();
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
