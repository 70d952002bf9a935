// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the same training of several ranks without scaling, bit by bit. Runs at 1, 2, 3 and 4 ranks.
#include <gmock/gmock.h>

#include "program/optim/scaled_training.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

constexpr std::size_t scaled_part = 8;

class LossScalingOfRanks : public testing::TestWithParam<TrainedNetwork> {
  protected:
    LossScalingOfRanks() {
        GetParam().build(plain, scaled_part);
        scaled = with_loss_scaling(plain, {.first = 0x1p60, .growth_steps = 7});
    }

    /// With `every`, before every so many steps the last rank alone has a batch that overflows.
    static State trained(const Program& program, std::int64_t bucket_bytes, std::size_t every = 0) {
        const auto& world = test_world();
        const auto parallel = data_parallel(program, {.ranks = world.size(), .bucket_bytes = bucket_bytes});
        State state(parallel, 5);
        Executor executor(parallel, state, world, {.threads = 1});
        for (std::size_t step = 0; step < steps; ++step) {
            GetParam().feed(executor, (step * static_cast<std::size_t>(world.size()) +
                                       static_cast<std::size_t>(world.rank())) *
                                          scaled_part);
            if (every > 0 && step % every == 1) {
                const auto x = executor.feed<float>("x");
                const auto own = copied(x);
                if (world.rank() + 1 == world.size()) std::ranges::fill(x, 1e30F);
                executor.run();
                std::ranges::copy(own, executor.feed<float>("x").begin());
            }
            executor.run();
        }
        return state;
    }

    static std::vector<float> copied(std::span<const float> values) { return {values.begin(), values.end()}; }

    Program plain;
    Program scaled;
};

TEST_P(LossScalingOfRanks, ChangesNoBit) {
    for (const std::int64_t bucket_bytes : {0, 20'000, 1 << 20}) {
        const auto given = trained(scaled, bucket_bytes);
        expect_same_bits(given, trained(plain, bucket_bytes));
        EXPECT_EQ(given.find(loss_scale_name)->view.as<float>()[0], 0x1p63F);
    }
}

TEST_P(LossScalingOfRanks, AllLeaveOutWhatOverflowsOnOne) {
    const auto given = trained(scaled, 20'000, 6);
    expect_same_bits(given, trained(plain, 20'000));
    EXPECT_TRUE(parameters_are_identical(given, test_world()));
    EXPECT_EQ(given.find(loss_scale_name)->view.as<float>()[0], 0x1p56F) << "four of those, and 5 steps";
}

TEST_P(LossScalingOfRanks, ChangesNoBitOfVirtualRanks) {
    const auto virtually = [&](const Program& program) {
        const auto parallel = with_virtual_ranks(program, 4);
        State state(parallel, 5);
        Executor executor(parallel, state, test_world(), {.threads = 1});
        for (std::size_t step = 0; step < steps; ++step) {
            const auto [begin, end] = executor.virtual_ranks();
            for (int v = begin; v < end; ++v) {
                GetParam().feed(executor, (step * 4 + static_cast<std::size_t>(v)) * scaled_part);
                executor.accumulate();
            }
            executor.update();
        }
        return state;
    };
    expect_same_bits(virtually(scaled), virtually(plain));
}

INSTANTIATE_TEST_SUITE_P(Networks, LossScalingOfRanks,
                         testing::Values(with_adam(), momentum_with_a_schedule(), dropout_classifier()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace dtrain
