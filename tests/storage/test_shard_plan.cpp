// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracle: counted by hand for small cases; for random tensors the promises of plan_shards(): every row once,
// in order, and shards of about equally many bytes.
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/shard_plan.hpp"

namespace dtrain::storage {
namespace {

TensorInfo floats(std::vector<std::int64_t> shape) {
    return {"t", DataType::float32, std::move(shape)};
}

TEST(ShardPlan, SplitsBetweenRows) {
    const std::vector<TensorInfo> tensors = {floats({10, 4})};
    const ShardPlan expected = {{{0, 0, 3}}, {{0, 3, 4}}, {{0, 7, 3}}};
    EXPECT_EQ(plan_shards(tensors, 3, 1), expected);
    EXPECT_EQ(plan_shards(tensors, 1, 1), (ShardPlan{{{0, 0, 10}}}));
}

TEST(ShardPlan, SmallTensorsStayWhole) {
    const std::vector<TensorInfo> tensors = {floats({10, 4}), floats({2}), floats({10, 4}), floats({})};
    const auto plan = plan_shards(tensors, 2);
    EXPECT_EQ(plan, (ShardPlan{{{0, 0, 10}, {1, 0, 2}}, {{2, 0, 10}, {3, 0, 1}}}));
}

TEST(ShardPlan, EveryRowOnce) {
    std::mt19937_64 random(7);
    for (int round = 0; round < 2000; ++round) {
        std::vector<TensorInfo> tensors;
        std::int64_t total = 0;
        std::int64_t largest = 0;  // what cannot be split
        const std::int64_t split_from = 1 << (random() % 12);
        for (auto count = random() % 9; count > 0; --count) {
            tensors.push_back(
                floats({static_cast<std::int64_t>(random() % 200), static_cast<std::int64_t>(random() % 5)}));
            const auto bytes = tensors.back().bytes();
            total += bytes;
            largest = std::max(largest, bytes >= split_from ? tensors.back().row_bytes() : bytes);
        }
        const int shards = 1 + static_cast<int>(random() % 6);
        const auto plan = plan_shards(tensors, shards, split_from);
        ASSERT_EQ(plan.size(), static_cast<std::size_t>(shards));
        std::vector<std::int64_t> rows(tensors.size(), 0);
        for (const auto& shard : plan) {
            std::int64_t bytes = 0;
            for (const auto& piece : shard) {
                EXPECT_GT(piece.rows, 0);
                EXPECT_EQ(piece.first_row, rows[piece.tensor]);
                rows[piece.tensor] += piece.rows;
                bytes += piece.rows * tensors[piece.tensor].row_bytes();
            }
            EXPECT_LE(bytes, total / shards + largest + 1) << "round " << round;
        }
        for (std::size_t i = 0; i < tensors.size(); ++i)
            EXPECT_EQ(rows[i], tensors[i].bytes() == 0 ? 0 : tensors[i].rows()) << "round " << round;
        if (HasFailure()) break;
    }
}

TEST(ShardPlan, PiecesOfAFileAreDealtInOrderByBytes) {
    const std::vector<TensorInfo> tensors = {floats({10, 4}), floats({2}), floats({0}), floats({3, 100})};
    const auto pieces = cut_pieces(tensors, 64);
    const std::vector<Piece> expected = {{0, 0, 4}, {0, 4, 4}, {0, 8, 2}, {1, 0, 2},
                                         {3, 0, 1}, {3, 1, 1}, {3, 2, 1}};
    EXPECT_EQ(pieces, expected);
    // 1368 bytes: 64, 64, 32, 8, 400, 400, 400.
    const auto plan = deal_pieces(tensors, pieces, 2);
    EXPECT_EQ(plan,
              (ShardPlan{{expected.begin(), expected.begin() + 5}, {expected.begin() + 5, expected.end()}}));
    EXPECT_EQ(deal_pieces(tensors, pieces, 1), (ShardPlan{expected}));
    std::size_t dealt = 0;
    for (const auto& of_rank : deal_pieces(tensors, pieces, 30)) dealt += of_rank.size();
    EXPECT_EQ(dealt, pieces.size());
}

TEST(ShardPlan, NoShardIsSmall) {
    const std::vector<TensorInfo> tensors = {floats({1 << 20, 16})};  // 64 MiB
    EXPECT_EQ(shard_count(tensors, 8), 4);
    EXPECT_EQ(shard_count(tensors, 3), 3);
    EXPECT_EQ(shard_count({}, 3), 1);
}

}  // namespace
}  // namespace dtrain::storage
