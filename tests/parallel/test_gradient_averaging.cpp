// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: averages worked out from what each rank is known to have given. Runs at 1, 2 and 4 ranks.
#include <algorithm>
#include <array>
#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/data_parallel.hpp>

#include "support/message_of.hpp"
#include "support/test_world.hpp"

namespace dtrain {
namespace {

using testing::Each;
using testing::FloatEq;
using testing::HasSubstr;
using tests::message_of;

/// Parameters of 3, 1000, 1 and 70,000 elements.
struct Model {
    std::array<std::vector<float>, 4> values;
    std::array<std::vector<float>, 4> gradients;

    explicit Model(float value = 0) {
        const std::array<std::size_t, 4> sizes{3, 1000, 1, 70'000};
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            values[i].assign(sizes[i], value + static_cast<float>(i));
            gradients[i].assign(sizes[i], 0);
        }
    }

    std::vector<ParameterBuffers> buffers() {
        std::vector<ParameterBuffers> out;
        for (std::size_t i = 0; i < values.size(); ++i)
            out.push_back({"p" + std::to_string(i), values[i], gradients[i]});
        return out;
    }
};

float average_of_ranks(const Communicator& world) {
    return static_cast<float>(world.size() - 1) / 2;
}

class Averaging : public testing::TestWithParam<std::int64_t> {};

TEST_P(Averaging, GradientsInAnyOrder) {
    const auto& world = test_world();
    Model model;
    GradientAveraging averaging(world, model.buffers(), {.bucket_bytes = GetParam()});
    std::mt19937 random(static_cast<unsigned>(world.rank()));  // another order on every rank
    for (int step = 1; step <= 5; ++step) {
        std::array<std::size_t, 4> order{0, 1, 2, 3};
        std::shuffle(order.begin(), order.end(), random);
        for (const auto number : order) {
            std::ranges::fill(model.gradients[number], static_cast<float>(step * 10 + world.rank()));
            averaging.ready(number);
        }
        averaging.finish();
        for (const auto& gradient : model.gradients)
            EXPECT_THAT(gradient, Each(FloatEq(static_cast<float>(step * 10) + average_of_ranks(world))));
    }
}

TEST_P(Averaging, GradientsThatARankDoesNotHaveAreZero) {
    const auto& world = test_world();
    Model model;
    GradientAveraging averaging(world, model.buffers(), {.bucket_bytes = GetParam()});
    for (int step = 0; step < 2; ++step) {
        for (auto& gradient : model.gradients) std::ranges::fill(gradient, 8);
        if (world.rank() == 0) averaging.ready(1);
        averaging.ready(2);
        averaging.finish();
        EXPECT_THAT(model.gradients[1], Each(FloatEq(8.0F / static_cast<float>(world.size()))));
        EXPECT_THAT(model.gradients[2], Each(FloatEq(8)));
        EXPECT_THAT(model.gradients[3], Each(FloatEq(0))) << "no rank has it";
    }
}

INSTANTIATE_TEST_SUITE_P(BucketBytes, Averaging, testing::Values(0, 1, 4000, 1 << 20));

TEST(GradientAveraging, BeginsWithTheValuesOfRankZero) {
    const auto& world = test_world();
    Model model(static_cast<float>(100 * (world.rank() + 1)));
    const GradientAveraging averaging(world, model.buffers());
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_THAT(model.values[i], Each(FloatEq(100 + static_cast<float>(i))));
    EXPECT_TRUE(averaging.values_are_identical());
    EXPECT_GE(averaging.bucket_bytes(), 64 << 10) << "it was measured";
    model.values[3].back() += static_cast<float>(world.rank());
    EXPECT_EQ(averaging.values_are_identical(), world.size() == 1);
}

TEST(GradientAveraging, NothingIsExchangedDuringAPause) {
    const auto& world = test_world();
    Model model;
    GradientAveraging averaging(world, model.buffers());
    const auto own = static_cast<float>(world.rank());
    {
        const auto pause = averaging.no_sync();
        std::ranges::fill(model.gradients[0], own);
        averaging.ready(0);
        averaging.ready(0);
        averaging.finish();
    }
    EXPECT_THAT(model.gradients[0], Each(FloatEq(own)));
    for (auto& value : model.gradients[0]) value += own;  // the next batch
    for (std::size_t number = 4; number-- > 0;) averaging.ready(number);
    averaging.finish();
    EXPECT_THAT(model.gradients[0], Each(FloatEq(2 * average_of_ranks(world))));
}

TEST(GradientAveraging, ValuesOfSeveralStepsAreAveraged) {
    const auto& world = test_world();
    Model model;
    GradientAveraging averaging(world, model.buffers());
    for (auto& values : model.values) std::ranges::fill(values, static_cast<float>(world.rank()));
    averaging.average_values();
    for (const auto& values : model.values) EXPECT_THAT(values, Each(FloatEq(average_of_ranks(world))));
    EXPECT_TRUE(averaging.values_are_identical());
}

TEST(GradientAveraging, SaysWhatIsUsedWrongly) {
    const auto& world = test_world();
    Model model;
    GradientAveraging averaging(world, model.buffers());
    averaging.ready(2);
    EXPECT_THAT(message_of<Error>([&] { averaging.ready(2); }),
                HasSubstr("'p2' is ready for the second time"));
    EXPECT_EQ(message_of<Error>([&] { averaging.ready(4); }), "ready(4): there are 4 parameters");
    averaging.finish();

    auto shorter = model.buffers();
    shorter[1].gradient = shorter[1].gradient.first(999);
    EXPECT_EQ(message_of<UsageError>([&] { GradientAveraging(world, shorter); }),
              "parameter 'p1' has 1000 values, but 999 in its gradient");
    EXPECT_THROW(GradientAveraging(world, {}), UsageError);
    if (world.size() == 1) return;
    auto fewer = model.buffers();
    if (world.rank() == 1) fewer.pop_back();
    EXPECT_EQ(message_of<UsageError>([&] { GradientAveraging(world, fewer); }),
              "rank 0 has 4 parameters and rank 1 has 3; build the same model everywhere");
    auto renamed = model.buffers();
    if (world.rank() == 1) renamed[0].name = "q";
    EXPECT_THAT(message_of<UsageError>([&] { GradientAveraging(world, renamed); }),
                HasSubstr("different names or sizes"));
}

}  // namespace
}  // namespace dtrain
