// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: numbers counted by hand.
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "native/id_dictionary.hpp"

namespace dtrain::native {
namespace {

using testing::ElementsAre;

constexpr auto min_id = std::numeric_limits<std::int64_t>::min();
constexpr auto greatest = std::numeric_limits<std::int64_t>::max();

TEST(IdDictionary, NumbersIdsInTheOrderInWhichTheyComeFirst) {
    const std::vector<std::int64_t> log{-1, min_id, -1, greatest, 0, min_id};
    const IdDictionary dictionary(log);
    EXPECT_EQ(dictionary.size(), 4);
    std::vector<std::int64_t> ids{0, greatest, min_id, -1, 0};
    dictionary.translate(ids);
    EXPECT_THAT(ids, ElementsAre(3, 2, 1, 0, 3));
}

TEST(IdDictionary, AnUnknownIdHasTheNumberBehindTheLast) {
    const IdDictionary dictionary(std::vector<std::int64_t>{5, 6});
    EXPECT_EQ(dictionary.number_of(7), 2);
    EXPECT_EQ(dictionary.number_of(2), 2);
    EXPECT_EQ(IdDictionary({}).number_of(0), 0);
}

}  // namespace
}  // namespace dtrain::native
