// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/tree_sum.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "kernels/loops.hpp"

namespace dtrain::program {
namespace {

constexpr std::size_t block = 4096;  // elements that stay in the first-level cache

std::size_t most_sums_at_once(const std::vector<int>& merges) {
    std::size_t most = 0;
    std::size_t now = 0;
    for (const int count : merges) {
        most = std::max(most, ++now);
        now -= static_cast<std::size_t>(count);
    }
    return most;
}

std::size_t depth_of(const TreeNode& node) {
    return node.is_leaf() ? 1 : 1 + std::max(depth_of(node.left()), depth_of(node.right()));
}

}  // namespace

TreeSum::TreeSum(Communicator communicator, int virtual_ranks, std::size_t elements)
    : communicator_(std::move(communicator)), all_{0, virtual_ranks}, elements_(elements) {
    if (virtual_ranks < communicator_.size())
        throw UsageError(fmt::format("{} virtual ranks on {} ranks; every rank needs one at least",
                                     virtual_ranks, communicator_.size()));
    own_ = virtual_ranks_of(communicator_.rank(), communicator_.size(), virtual_ranks);
    merges_ = merges_after_leaves(own_, virtual_ranks);
    made_.assign(most_sums_at_once(merges_), Values(elements));
    for (int rank = 0; rank < communicator_.size(); ++rank)
        for (const auto& node :
             largest_nodes_within(virtual_ranks_of(rank, communicator_.size(), virtual_ranks), virtual_ranks))
            parts_.push_back({node, rank, Values(elements)});
    scratch_.assign(depth_of(all_), Values(block));
}

void TreeSum::add(std::span<const float> values) {
    if (given_ == own_.end - own_.begin)
        throw Error(fmt::format("all {} virtual ranks of rank {} have given their gradients already", given_,
                                communicator_.rank()));
    std::ranges::copy(values, made_[made_count_].begin());
    ++made_count_;
    for (int merge = 0; merge < merges_[static_cast<std::size_t>(given_)]; ++merge) {
        --made_count_;
        kernels::loops::add(made_[made_count_].data(), made_[made_count_ - 1].data(), elements_);
    }
    ++given_;
}

void TreeSum::finish(std::span<float> sum) {
    if (given_ != own_.end - own_.begin)
        throw Error(fmt::format("{} of {} virtual ranks of rank {} have given their gradients", given_,
                                own_.end - own_.begin, communicator_.rank()));
    gather();
    for (std::size_t begin = 0; begin < elements_; begin += block)
        evaluate(all_, begin, std::min(block, elements_ - begin), sum.data() + begin, 0);
    given_ = 0;
    made_count_ = 0;
}

void TreeSum::gather() {
    std::size_t own_part = 0;
    for (auto& part : parts_) {
        if (part.owner == communicator_.rank()) std::swap(part.values, made_[own_part++]);
        communicator_.broadcast(std::span(part.values), part.owner);
    }
}

void TreeSum::evaluate(const TreeNode& node, std::size_t begin, std::size_t count, float* out,
                       std::size_t depth) {
    const auto part = std::ranges::find(parts_, node, &Part::node);
    if (part != parts_.end()) {
        std::copy_n(part->values.data() + begin, count, out);
        return;
    }
    evaluate(node.left(), begin, count, out, depth + 1);
    auto& right = scratch_[depth];
    evaluate(node.right(), begin, count, right.data(), depth + 1);
    kernels::loops::add(right.data(), out, count);
}

}  // namespace dtrain::program
