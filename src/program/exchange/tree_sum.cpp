// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/exchange/tree_sum.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "kernels/loops/loops.hpp"

namespace dtrain::program {
namespace {

constexpr std::size_t block = 4096;  // elements that stay in the first-level cache

std::size_t max_sums_at_once(const std::vector<int>& merges) {
    std::size_t max = 0;
    std::size_t now = 0;
    for (const int count : merges) {  // sums that are merged at once need no slot
        now = now + 1 - static_cast<std::size_t>(count);
        max = std::max(max, now);
    }
    return max;
}

std::size_t depth_of(const TreeNode& node) {
    return node.is_leaf() ? 1 : 1 + std::max(depth_of(node.left()), depth_of(node.right()));
}

}  // namespace

TreeSum::TreeSum(Communicator communicator, int virtual_ranks, std::size_t elements,
                 const MakeSums& make_sums)
    : communicator_(std::move(communicator)), all_{0, virtual_ranks}, elements_(elements) {
    const auto ranks = communicator_.size();
    own_ = virtual_ranks_of(communicator_.rank(), ranks, virtual_ranks);
    merges_ = merges_after_leaves(own_, virtual_ranks);
    made_ = make_sums(max_sums_at_once(merges_));
    const auto count = static_cast<std::size_t>(ranks);
    shard_size_ = (elements + count - 1) / count;
    for (int rank = 0; rank < ranks; ++rank) {
        const auto nodes = largest_nodes_within(virtual_ranks_of(rank, ranks, virtual_ranks), virtual_ranks);
        for (const auto& node : nodes) parts_.push_back({node, parts_.size() * shard_size_});
        received_counts_.push_back(nodes.size() * shard_size_);
    }
    const auto own_parts = largest_nodes_within(own_, virtual_ranks).size();
    sent_counts_.assign(count, own_parts * shard_size_);
    sent_.resize(count * own_parts * shard_size_);
    received_.resize(parts_.size() * shard_size_);
    own_sum_.resize(shard_size_);
    all_sums_.resize(count * shard_size_);
    scratch_.assign(depth_of(all_), Values(block));
}

void TreeSum::start() {
    given_ = 0;
    made_count_ = 0;
}

void TreeSum::add() {
    if (given_ == own_.end - own_.begin)
        throw Error(fmt::format("all {} virtual ranks of rank {} have given their gradients already", given_,
                                communicator_.rank()));
    const int merges = merges_[static_cast<std::size_t>(given_)];
    if (merges == 0)
        made_->set(made_count_++);
    else
        made_->add(made_count_ - 1);
    for (int merge = 1; merge < merges; ++merge) {
        --made_count_;
        made_->merge(made_count_ - 1);
    }
    ++given_;
}

void TreeSum::finish() {
    if (given_ != own_.end - own_.begin)
        throw Error(fmt::format("{} of {} virtual ranks of rank {} have given their gradients", given_,
                                own_.end - own_.begin, communicator_.rank()));
    if (communicator_.size() == 1)
        made_->give_back();
    else
        add_over_ranks(made_->on_host(made_count_));
    start();
}

void TreeSum::add_over_ranks(const std::vector<std::span<const float>>& made) {
    deal_shards(made);
    for (std::size_t begin = 0; begin < shard_size_; begin += block)
        evaluate(all_, begin, std::min(block, shard_size_ - begin), own_sum_.data() + begin, 0);
    communicator_.all_gather(std::span<const float>(own_sum_), std::span(all_sums_));
    made_->give_back(std::span(all_sums_).first(elements_));
}

void TreeSum::deal_shards(const std::vector<std::span<const float>>& made) {
    auto to = sent_.begin();
    for (int rank = 0; rank < communicator_.size(); ++rank) {
        const auto begin = std::min(elements_, static_cast<std::size_t>(rank) * shard_size_);
        const auto count = std::min(shard_size_, elements_ - begin);
        for (const auto& part : made) {
            std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(begin), count, to);
            to += static_cast<std::ptrdiff_t>(shard_size_);
        }
    }
    communicator_.all_to_allv(std::span<const float>(sent_), sent_counts_, std::span(received_),
                              received_counts_);
}

void TreeSum::evaluate(const TreeNode& node, std::size_t begin, std::size_t count, float* out,
                       std::size_t depth) {
    const auto part = std::ranges::find(parts_, node, &Part::node);
    if (part != parts_.end()) {
        std::copy_n(received_.data() + part->begin + begin, count, out);
        return;
    }
    evaluate(node.left(), begin, count, out, depth + 1);
    auto& right = scratch_[depth];
    evaluate(node.right(), begin, count, right.data(), depth + 1);
    kernels::loops::add(right.data(), out, count);
}

}  // namespace dtrain::program
