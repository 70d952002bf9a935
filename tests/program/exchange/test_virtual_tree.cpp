// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the ranges of all ranks together are 0..K-1; a stack of sums that is merged as told ends as the
// nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "program/exchange/virtual_tree.hpp"

namespace dtrain::program {
namespace {

using testing::ElementsAre;

template <class Visit>
void for_all_worlds(const Visit& visit) {
    for (int virtual_ranks = 1; virtual_ranks <= 17; ++virtual_ranks)
        for (int ranks = 1; ranks <= virtual_ranks; ++ranks) visit(virtual_ranks, ranks);
}

TEST(VirtualTree, EveryRankHasItsPart) {
    for_all_worlds([](int virtual_ranks, int ranks) {
        int next = 0;
        for (int rank = 0; rank < ranks; ++rank) {
            const auto own = virtual_ranks_of(rank, ranks, virtual_ranks);
            EXPECT_EQ(own.begin, next);
            EXPECT_GE(own.end - own.begin, virtual_ranks / ranks);
            EXPECT_LE(own.end - own.begin, (virtual_ranks + ranks - 1) / ranks);
            next = own.end;
        }
        EXPECT_EQ(next, virtual_ranks);
    });
}

TEST(VirtualTree, MergingAsToldGivesTheLargestNodes) {
    for_all_worlds([](int virtual_ranks, int ranks) {
        for (int rank = 0; rank < ranks; ++rank) {
            const auto own = virtual_ranks_of(rank, ranks, virtual_ranks);
            const auto merges = merges_after_leaves(own, virtual_ranks);
            std::vector<TreeNode> sums;
            for (int leaf = own.begin; leaf < own.end; ++leaf) {
                sums.push_back({leaf, leaf + 1});
                for (int merge = 0; merge < merges[static_cast<std::size_t>(leaf - own.begin)]; ++merge) {
                    const auto right = sums.back();
                    sums.pop_back();
                    const TreeNode both{sums.back().begin, right.end};
                    EXPECT_EQ(both.left(), sums.back());
                    EXPECT_EQ(both.right(), right);
                    sums.back() = both;
                }
            }
            EXPECT_EQ(sums, largest_nodes_within(own, virtual_ranks));
        }
    });
}

TEST(VirtualTree, KnownTrees) {
    EXPECT_THAT(largest_nodes_within({0, 3}, 4), ElementsAre(TreeNode{0, 2}, TreeNode{2, 3}));
    EXPECT_THAT(largest_nodes_within({1, 4}, 4), ElementsAre(TreeNode{1, 2}, TreeNode{2, 4}));
    EXPECT_THAT(largest_nodes_within({0, 4}, 4), ElementsAre(TreeNode{0, 4}));
    EXPECT_THAT(merges_after_leaves({0, 4}, 4), ElementsAre(0, 1, 0, 2));
}

}  // namespace
}  // namespace dtrain::program
