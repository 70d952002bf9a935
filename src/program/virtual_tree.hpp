// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

/// The tree in which the gradients of virtual ranks are added: node [begin, end) is [begin, middle) plus
/// [middle, end) with middle = (begin + end) / 2, rounded down, and a leaf is one virtual rank. It does not
/// depend on how many real ranks there are, so that their sums have the same bits. Pure.
namespace dtrain::program {

struct TreeNode {
    int begin = 0;
    int end = 0;

    bool is_leaf() const { return end - begin == 1; }
    TreeNode left() const { return {begin, begin + (end - begin) / 2}; }
    TreeNode right() const { return {begin + (end - begin) / 2, end}; }
    bool is_within(const TreeNode& range) const { return range.begin <= begin && end <= range.end; }
    bool overlaps(const TreeNode& range) const { return begin < range.end && range.begin < end; }
    friend bool operator==(const TreeNode&, const TreeNode&) = default;
};

/// The virtual ranks of a real one: contiguous, and as many as others have or one more.
/// @throws UsageError when they are fewer than the ranks
TreeNode virtual_ranks_of(int rank, int ranks, int virtual_ranks);

/// The largest nodes within a range, from left to right: what their ranks' sums are made of.
std::vector<TreeNode> largest_nodes_within(const TreeNode& range, int virtual_ranks);

/// For each leaf of the range: how many nodes within it are complete with that leaf and not before, so that
/// the last two of the sums that were made so far become one, so many times.
std::vector<int> merges_after_leaves(const TreeNode& range, int virtual_ranks);

}  // namespace dtrain::program
