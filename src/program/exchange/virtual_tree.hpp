// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

/// The tree in which the gradients of virtual ranks are summed: node [begin, end) is [begin, middle) plus
/// [middle, end) with middle = (begin + end) / 2, rounded down, and a leaf is one virtual rank. It does not
/// depend on the number of real ranks, so their sums are bitwise identical. Pure.
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

/// The virtual ranks of a real one: contiguous; counts of different ranks differ by at most one. @throws
/// UsageError if there are fewer virtual ranks than ranks
TreeNode virtual_ranks_of(int rank, int ranks, int virtual_ranks);

/// The largest nodes within a range, from left to right: the sums of a rank.
std::vector<TreeNode> largest_nodes_within(const TreeNode& range, int virtual_ranks);

/// For each leaf of the range: the number of nodes within it that become complete with that leaf, which is
/// how often the last two of the sums so far are merged.
std::vector<int> merges_after_leaves(const TreeNode& range, int virtual_ranks);

}  // namespace dtrain::program
