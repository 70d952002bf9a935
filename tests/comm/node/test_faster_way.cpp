// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the definition. Each way is tried as often as the other, then the one that took less time a byte at
// its best is taken, for each operation and power of two of the
// length.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/node/faster_way.hpp"

namespace dtrain::comm {
namespace {

using std::chrono::microseconds;

constexpr std::size_t length = std::size_t{1} << 20U;
constexpr auto sum = Operation::allreduce;

// Sums of `bytes` that take so long, until both ways were tried.
void try_both(FasterWay& ways, std::size_t bytes, microseconds pieces, microseconds reads) {
    for (int i = 0; i < 2 * FasterWay::tries; ++i) {
        const auto way = ways.next(sum, bytes);
        ways.took(sum, bytes, way, way == Way::pieces ? pieces : reads);
    }
}

TEST(FasterWay, TriesBothEquallyOften) {
    FasterWay ways;
    int reads = 0;
    for (int i = 0; i < 2 * FasterWay::tries; ++i) reads += ways.next(sum, length) == Way::reads ? 1 : 0;
    EXPECT_EQ(reads, FasterWay::tries);
}

TEST(FasterWay, TakesTheOneThatTookLess) {
    FasterWay ways;
    try_both(ways, length, microseconds(100), microseconds(90));
    EXPECT_EQ(ways.next(sum, length), Way::reads);
    try_both(ways, 4 * length, microseconds(90), microseconds(100));
    EXPECT_EQ(ways.next(sum, 4 * length), Way::pieces);
    EXPECT_EQ(ways.next(sum, length), Way::reads) << "lengths are apart";
    EXPECT_EQ(ways.next(Operation::all_gather, length), Way::pieces) << "operations are apart: the first try";
}

TEST(FasterWay, GoesByTheBestTimeOfAByte) {
    FasterWay ways;
    try_both(ways, length, microseconds(100), microseconds(100));
    ways.took(sum, length, Way::pieces, microseconds(5000));  // others had the processor
    ways.took(sum, length + length / 2, Way::reads, microseconds(130));
    EXPECT_EQ(ways.next(sum, length), Way::reads);
}

TEST(FasterWay, TakesPiecesWhenNothingWasMeasured) {
    FasterWay ways;
    int reads = 0;
    for (int i = 0; i < FasterWay::most_tries; ++i) reads += ways.next(sum, length) == Way::reads ? 1 : 0;
    EXPECT_EQ(reads, FasterWay::most_tries / 2) << "a time that is not known is no try";
    EXPECT_EQ(ways.next(sum, length), Way::pieces);
    EXPECT_EQ(ways.next(sum, length), Way::pieces);
}

}  // namespace
}  // namespace dtrain::comm
