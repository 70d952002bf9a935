// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "data/click_batches.hpp"

#include <algorithm>
#include <utility>

namespace dtrain::data {
namespace {

template <class Value>
void copy_row(std::span<const Value> from, std::int64_t row, std::vector<Value>& to, std::int64_t to_row,
              std::int64_t width) {
    std::copy_n(from.begin() + row * width, width, to.begin() + to_row * width);
}

template <class Value>
std::span<const Value> rows_of(const std::vector<Value>& values, std::int64_t first, std::int64_t count,
                               std::int64_t width) {
    return std::span(values).subspan(static_cast<std::size_t>(first * width),
                                     static_cast<std::size_t>(count * width));
}

}  // namespace

ClickBatches::ClickBatches(std::shared_ptr<const ClickCacheFile> cache,
                           const DistributedSampler::Options& sampling, std::int64_t memory,
                           Translate translate)
    : cache_(std::move(cache)),
      translate_(std::move(translate)),
      sampler_(sampling),
      at_once_(batches_of_half(memory)),
      batches_({.count = 2 * at_once_, .at_once = at_once_},
               [this](std::int64_t first, std::int64_t count) { prepare(first, count); }) {
    const auto& info = cache_->info();
    const auto rows = 2 * at_once_ * sampler_.local_batch();
    dense_.resize(static_cast<std::size_t>(rows * info.integers));
    ids_.resize(static_cast<std::size_t>(rows * info.slots));
    labels_.resize(static_cast<std::size_t>(rows));
    weights_.resize(static_cast<std::size_t>(rows));
    order_.reserve(static_cast<std::size_t>(rows / 2));
}

std::int64_t ClickBatches::batches_of_half(std::int64_t memory) const {
    const auto& info = cache_->info();
    const auto row_bytes =
        click_row_bytes(info.integers, info.slots) + static_cast<std::int64_t>(sizeof(float));  // weight
    const auto bytes =
        sampler_.local_batch() * (2 * row_bytes + static_cast<std::int64_t>(sizeof(SampleRow)));
    return std::clamp<std::int64_t>(memory / bytes, 1, (sampler_.batches() + 1) / 2);
}

void ClickBatches::start(std::int64_t epoch, std::int64_t first_batch) {
    batches_.start(first_batch, sampler_.batches(), [&] { sampler_.start_epoch(epoch); });
}

ClickBatch ClickBatches::in_buffer(std::int64_t buffer) const {
    const auto rows = sampler_.local_batch();
    const auto first = buffer * rows;
    return {.dense = rows_of(dense_, first, rows, cache_->info().integers),
            .ids = rows_of(ids_, first, rows, cache_->info().slots),
            .labels = rows_of(labels_, first, rows, 1),
            .weights = rows_of(weights_, first, rows, 1)};
}

ClickBatch ClickBatches::next() {
    return in_buffer(batches_.next());
}

std::optional<ClickBatch> ClickBatches::await_next() {
    const auto buffer = batches_.await_next();
    return buffer < 0 ? std::nullopt : std::optional(in_buffer(buffer));
}

void ClickBatches::prepare(std::int64_t first, std::int64_t count) {
    const auto rows = sampler_.local_batch();
    order_.clear();
    for (auto number = first; number < first + count; ++number) {
        const auto batch = sampler_.batch(number);
        const auto first_row = number % (2 * at_once_) * rows;
        for (std::int64_t i = 0; i < rows; ++i)
            order_.push_back({batch.samples[static_cast<std::size_t>(i)], first_row + i});
        std::ranges::copy(batch.weights, weights_.begin() + first_row);
    }
    std::ranges::sort(order_, {}, &SampleRow::sample);
    const auto block_of = [&](const SampleRow& row) { return row.sample / cache_->samples_of_a_block(); };
    for (auto begin = order_.begin(); begin != order_.end();) {
        const auto block = block_of(*begin);
        const auto end =
            std::find_if(begin, order_.end(), [&](const SampleRow& row) { return block_of(row) != block; });
        cache_->read(block, block_);
        copy(block_, {begin, end});
        begin = end;
    }
}

void ClickBatches::copy(const ClickBlock& block, std::span<const SampleRow> rows) {
    const auto& info = cache_->info();
    for (const auto& [sample, row] : rows) {
        const auto in_block = sample - block.first();
        copy_row(block.dense(), in_block, dense_, row, info.integers);
        copy_row(block.ids(), in_block, ids_, row, info.slots);
        copy_row(block.labels(), in_block, labels_, row, 1);
        if (translate_)
            translate_(std::span(ids_).subspan(static_cast<std::size_t>(row * info.slots),
                                               static_cast<std::size_t>(info.slots)));
    }
}

}  // namespace dtrain::data
