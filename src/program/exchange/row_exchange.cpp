// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/exchange/row_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::program {
namespace {

constexpr std::size_t value_bytes(std::size_t rows, std::size_t width) {
    constexpr std::size_t wide = sizeof(std::int64_t);  // row numbers follow, aligned to 8 bytes
    return (rows * width * sizeof(float) + wide - 1) / wide * wide;
}

constexpr std::size_t list_bytes(std::size_t rows, std::size_t width) {
    return rows * sizeof(std::int64_t) + value_bytes(rows, width);
}

}  // namespace

RowExchange::RowExchange(Communicator communicator, TreeNode batches, int all,
                         std::vector<ExchangedRows> gradients, std::unique_ptr<StagedRows> staged)
    : communicator_(std::move(communicator)),
      batches_(batches.end - batches.begin),
      staged_(std::move(staged)) {
    const auto ranks = static_cast<std::size_t>(communicator_.size());
    max_batches_ = static_cast<int>((static_cast<std::size_t>(all) + ranks - 1) / ranks);
    std::size_t batch_bytes = 0;
    for (auto& gradient : gradients) {
        const auto width = gradient.made.size() / gradient.made_rows.size();
        batch_bytes += list_bytes(gradient.made_rows.size(), width);
        kernels::RowMerger<float> merger(gradient.rows, gradient.values);
        tables_.push_back({std::move(gradient), width, std::move(merger)});
        tables_.back().lists.reserve(static_cast<std::size_t>(all));
    }
    block_.resize(static_cast<std::size_t>(max_batches_) * batch_bytes);
    blocks_.resize(ranks * block_.size());
    counts_.assign(counts_per_rank(), 0);
    all_counts_.resize(ranks * counts_.size());
}

void RowExchange::start() {
    std::ranges::fill(counts_, 0);
    block_bytes_ = 0;
    collected_ = 0;
}

void RowExchange::collect() {
    if (collected_ == batches_)
        throw Error(fmt::format("all {} batches of rank {} have given their gradients already", batches_,
                                communicator_.rank()));
    if (staged_) staged_->take();
    auto* to = block_.data() + block_bytes_;
    auto count = counts_.begin() +
                 static_cast<std::ptrdiff_t>(collected_) * static_cast<std::ptrdiff_t>(tables_.size());
    for (const auto& table : tables_) {
        const auto& [gradient, rows, values, sum_rows, sum] = table.exchanged;
        const auto made = static_cast<std::size_t>(std::ranges::find(rows, kernels::no_row) - rows.begin());
        std::memcpy(to, rows.data(), made * sizeof(std::int64_t));
        std::memcpy(to + made * sizeof(std::int64_t), values.data(), made * table.width * sizeof(float));
        to += list_bytes(made, table.width);
        *count++ = static_cast<std::int64_t>(made);
    }
    block_bytes_ = static_cast<std::size_t>(to - block_.data());
    ++collected_;
}

void RowExchange::finish() {
    communicator_.all_gather(std::span<const std::int64_t>(counts_), std::span(all_counts_));
    const auto length = max_block();
    const auto ranks = static_cast<std::size_t>(communicator_.size());
    if (length > 0)
        communicator_.all_gather(std::span<const std::byte>(block_).first(length),
                                 std::span(blocks_).first(ranks * length));
    for (auto& table : tables_) table.lists.clear();
    for (std::size_t rank = 0; rank < ranks; ++rank)
        find_lists(std::span(blocks_).subspan(rank * length, length),
                   std::span(all_counts_).subspan(rank * counts_.size(), counts_.size()));
    const auto node_rank = static_cast<std::size_t>(communicator_.node_rank());
    const auto node_size = static_cast<std::size_t>(communicator_.node_size());
    for (auto& table : tables_) {
        const auto made = table.merger.run(table.lists, kernels::no_row);
        const auto first = made * node_rank / node_size;
        table.shard = {first, made * (node_rank + 1) / node_size - first};
    }
    if (staged_) staged_->give_back();
    start();
}

std::size_t RowExchange::max_block() const {
    std::size_t max = 0;
    for (std::size_t first = 0; first < all_counts_.size(); first += counts_.size()) {
        std::size_t bytes = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i)
            bytes += list_bytes(static_cast<std::size_t>(all_counts_[first + i]),
                                tables_[i % tables_.size()].width);
        max = std::max(max, bytes);
    }
    return max;
}

void RowExchange::find_lists(std::span<const std::byte> block, std::span<const std::int64_t> counts) {
    std::size_t at = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        auto& table = tables_[i % tables_.size()];
        const auto rows = static_cast<std::size_t>(counts[i]);
        if (rows == 0) continue;
        const auto values =
            block.subspan(at + rows * sizeof(std::int64_t), rows * table.width * sizeof(float));
        table.lists.push_back(
            {kernels::Integers({const_cast<std::byte*>(&block[at]), {counts[i]}, DataType::int64}),
             {reinterpret_cast<const float*>(values.data()), rows * table.width}});
        at += list_bytes(rows, table.width);
    }
}

const kernels::ElementRange* RowExchange::shard_of(std::string_view gradient) const {
    const auto of = [](const Table& table) -> const std::string& { return table.exchanged.gradient; };
    return &std::ranges::find(tables_, gradient, of)->shard;
}

}  // namespace dtrain::program
