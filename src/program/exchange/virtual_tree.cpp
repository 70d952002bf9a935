// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/exchange/virtual_tree.hpp"

#include <cstddef>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::program {
namespace {

template <class Visit>
void visit_largest_within(const TreeNode& node, const TreeNode& range, const Visit& visit) {
    if (!node.overlaps(range)) return;
    if (node.is_within(range)) {
        visit(node);
        return;
    }
    visit_largest_within(node.left(), range, visit);
    visit_largest_within(node.right(), range, visit);
}

template <class Visit>
void visit_inner(const TreeNode& node, const Visit& visit) {
    if (node.is_leaf()) return;
    visit(node);
    visit_inner(node.left(), visit);
    visit_inner(node.right(), visit);
}

}  // namespace

TreeNode virtual_ranks_of(int rank, int ranks, int virtual_ranks) {
    if (virtual_ranks < ranks)
        throw UsageError(
            fmt::format("{} virtual ranks on {} ranks; every rank needs one at least", virtual_ranks, ranks));
    const auto begin_of = [&](int r) {
        return static_cast<int>(static_cast<long>(virtual_ranks) * r / ranks);
    };
    return {begin_of(rank), begin_of(rank + 1)};
}

std::vector<TreeNode> largest_nodes_within(const TreeNode& range, int virtual_ranks) {
    std::vector<TreeNode> nodes;
    visit_largest_within({0, virtual_ranks}, range, [&](const TreeNode& node) { nodes.push_back(node); });
    return nodes;
}

std::vector<int> merges_after_leaves(const TreeNode& range, int virtual_ranks) {
    std::vector<int> merges(static_cast<std::size_t>(range.end - range.begin));
    for (const auto& largest : largest_nodes_within(range, virtual_ranks))
        visit_inner(largest, [&](const TreeNode& node) {
            ++merges[static_cast<std::size_t>(node.end - 1 - range.begin)];
        });
    return merges;
}

}  // namespace dtrain::program
