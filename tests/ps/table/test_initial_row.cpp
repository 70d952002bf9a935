// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the formulas in another implementation (Python, with its own SplitMix64), for the seed 7, the table
// "user.embedding" and three floats a row; moments of the distributions.
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ends_of_ids.hpp"
#include "ps/table/initial_row.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using tests::message_of;

std::vector<float> row_of(const RowInitializer& initializer, std::int64_t id, std::size_t width = 3,
                          const std::string& table = "user.embedding") {
    std::vector<float> weights(width);
    InitialRow(initializer, 7, table).write(id, weights);
    return weights;
}

TEST(InitialRow, UniformHasTheKnownBits) {
    const UniformRow half{0.5};
    EXPECT_THAT(row_of(half, 0), ElementsAre(0x1.600206p-2F, -0x1.da745ap-3F, 0x1.7bff56p-2F));
    EXPECT_THAT(row_of(half, 5), ElementsAre(0x1.84256ap-4F, -0x1.468384p-5F, -0x1.974906p-2F));
    EXPECT_THAT(row_of(half, -1), ElementsAre(0x1.62231p-2F, 0x1.74272ap-2F, 0x1.f33004p-2F));
    EXPECT_THAT(row_of(half, min), ElementsAre(-0x1.788ed6p-4F, -0x1.f3e612p-2F, 0x1.8d9216p-2F));
    EXPECT_THAT(row_of(half, max), ElementsAre(-0x1.940c94p-3F, -0x1.15f908p-2F, -0x1.786842p-5F));
    EXPECT_THAT(row_of(half, std::int64_t{1} << 32U),
                ElementsAre(-0x1.ff39b4p-3F, -0x1.b8651cp-5F, 0x1.0ffe6ep-2F));
}

TEST(InitialRow, NormalHasTheKnownValues) {
    const auto near = [](float a, float b, float c) {
        return ElementsAre(FloatNear(a, 2e-6F), FloatNear(b, 2e-6F), FloatNear(c, 2e-6F));
    };
    EXPECT_THAT(row_of(NormalRow{2}, 5), near(2.118433F, 0.532305F, 0.513954F));
    EXPECT_THAT(row_of(NormalRow{2}, min), near(1.968303F, -0.172867F, 3.305556F));
    EXPECT_THAT(row_of(NormalRow{2}, max), near(-1.379082F, 1.148267F, 2.186595F));
}

TEST(InitialRow, ConstantIsWhatItSays) {
    EXPECT_THAT(row_of(ConstantRow{-1.5}, 12), ElementsAre(-1.5F, -1.5F, -1.5F));
    EXPECT_THAT(row_of(ConstantRow{}, 12), ElementsAre(0.0F, 0.0F, 0.0F));
}

TEST(InitialRow, HasTheMomentsOfItsDistribution) {
    const auto moments = [](const RowInitializer& initializer) {
        double sum = 0, squares = 0;
        constexpr int rows = 20000;
        for (std::int64_t id = 0; id < rows; ++id)
            for (const auto value : row_of(initializer, (id - rows / 2) << 35, 8)) {
                sum += value;
                squares += value * value;
            }
        const double n = rows * 8;
        return std::vector<double>{sum / n, squares / n};
    };
    // Five standard deviations of the means.
    EXPECT_THAT(moments(UniformRow{0.5}),
                ElementsAre(testing::DoubleNear(0, 0.0037), testing::DoubleNear(1 / 12.0, 0.00094)));
    EXPECT_THAT(moments(NormalRow{0.5}),
                ElementsAre(testing::DoubleNear(0, 0.0063), testing::DoubleNear(0.25, 0.0045)));
}

TEST(InitialRow, IsAnotherForEachIdAndTable) {
    // With 16 floats a row, these would share counters if positions were taken modulo 2^64.
    std::map<std::vector<float>, std::int64_t> seen;
    for (std::int64_t high = 0; high < 64; ++high)
        for (const std::int64_t low : {0, 1, 2})
            seen[row_of(UniformRow{1},
                        static_cast<std::int64_t>(static_cast<std::uint64_t>(high) << 58U) + low, 16)] = high;
    EXPECT_EQ(seen.size(), 64U * 3);
    EXPECT_NE(row_of(UniformRow{1}, 1), row_of(UniformRow{1}, 1, 3, "item.embedding"));
}

TEST(InitialRow, RefusesWhatIsNoDistribution) {
    const auto refusal = [](const RowInitializer& initializer) {
        return message_of([&] { InitialRow(initializer, 1, "user.embedding"); });
    };
    EXPECT_EQ(
        refusal(UniformRow{-0.5}),
        "table 'user.embedding': the bound of the initial values is -0.5, expected a finite number that is "
        "not negative");
    EXPECT_THAT(refusal(NormalRow{std::numeric_limits<double>::quiet_NaN()}), HasSubstr("is nan, expected"));
    EXPECT_THAT(refusal(ConstantRow{HUGE_VAL}), HasSubstr("is inf, expected a finite number"));
}

}  // namespace
}  // namespace dtrain::ps
