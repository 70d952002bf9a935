// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the definition. Each way is tried as often as the other, then the one that took less time a byte at
// its best is taken, for each power of two of the length.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/node/faster_way.hpp"

namespace dtrain::comm {
namespace {

using std::chrono::microseconds;

constexpr std::size_t length = std::size_t{1} << 20U;

// Sums of `bytes` that take so long, until both ways were tried.
void try_both(FasterWay& ways, std::size_t bytes, microseconds pieces, microseconds reads) {
    for (int i = 0; i < 2 * FasterWay::tries; ++i) {
        const auto way = ways.next(bytes);
        ways.took(bytes, way, way == Way::pieces ? pieces : reads);
    }
}

TEST(FasterWay, TriesBothEquallyOften) {
    FasterWay ways;
    int reads = 0;
    for (int i = 0; i < 2 * FasterWay::tries; ++i) reads += ways.next(length) == Way::reads ? 1 : 0;
    EXPECT_EQ(reads, FasterWay::tries);
}

TEST(FasterWay, TakesTheOneThatTookLess) {
    FasterWay ways;
    try_both(ways, length, microseconds(100), microseconds(90));
    EXPECT_EQ(ways.next(length), Way::reads);
    try_both(ways, 4 * length, microseconds(90), microseconds(100));
    EXPECT_EQ(ways.next(4 * length), Way::pieces);
    EXPECT_EQ(ways.next(length), Way::reads) << "lengths are apart";
}

TEST(FasterWay, GoesByTheBestTimeOfAByte) {
    FasterWay ways;
    try_both(ways, length, microseconds(100), microseconds(100));
    ways.took(length, Way::pieces, microseconds(5000));  // others had the processor
    ways.took(length + length / 2, Way::reads, microseconds(130));
    EXPECT_EQ(ways.next(length), Way::reads);
}

TEST(FasterWay, TakesPiecesWhenNothingWasMeasured) {
    FasterWay ways;
    for (int i = 0; i < 2 * FasterWay::tries; ++i) ways.next(length);
    EXPECT_EQ(ways.next(length), Way::pieces);
}

}  // namespace
}  // namespace dtrain::comm
