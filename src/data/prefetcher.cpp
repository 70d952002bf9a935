// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "data/prefetcher.hpp"

#include <algorithm>
#include <utility>

namespace dtrain::data {
namespace {

BatchOrder order_of(const DistributedSampler& options) {
    const auto sampler = std::make_shared<DistributedSampler>(options);
    return {.rows = sampler->local_batch(),
            .batches = sampler->batches(),
            .start_epoch = [sampler](std::int64_t epoch) { sampler->start_epoch(epoch); },
            .batch = [sampler](std::int64_t number) { return sampler->batch(number); }};
}

}  // namespace

Prefetcher::Prefetcher(std::shared_ptr<const DataSource> data, const DistributedSampler& sampler,
                       std::size_t depth)
    : Prefetcher(std::move(data), order_of(sampler), depth) {}

Prefetcher::Prefetcher(std::shared_ptr<const DataSource> data, BatchOrder order, std::size_t depth)
    : data_(std::move(data)),
      ring_(std::max<std::size_t>(2, depth)),
      order_(std::move(order)),
      batches_({.count = static_cast<std::int64_t>(ring_.size())},
               [this](std::int64_t step, std::int64_t) { prepare(step); }) {
    const auto rows = static_cast<std::size_t>(order_.rows);
    for (auto& batch : ring_) {
        batch.x.resize(rows * static_cast<std::size_t>(data_->features()));
        batch.labels.resize(rows);
        batch.weights.resize(rows);
    }
}

void Prefetcher::start(std::int64_t epoch, std::int64_t first_step) {
    batches_.start(first_step, order_.batches, [&] {
        order_.start_epoch(epoch);
        announced_until_ = first_step;
    });
}

const PreparedBatch& Prefetcher::next() {
    return ring_[static_cast<std::size_t>(batches_.next())];
}

void Prefetcher::prepare(std::int64_t step) {
    announce(step);
    auto& batch = ring_[static_cast<std::size_t>(step) % ring_.size()];
    const auto part = order_.batch(step);
    batch.x.resize(part.samples.size() * static_cast<std::size_t>(data_->features()));
    batch.labels.resize(part.samples.size());
    batch.weights.resize(part.samples.size());
    data_->gather(part.samples, batch.x, batch.labels);
    std::ranges::copy(part.weights, batch.weights.begin());
}

void Prefetcher::announce(std::int64_t step) {
    const auto batches = data_->lookahead() / order_.rows;
    if (batches < 1 || step < announced_until_) return;
    announced_until_ = std::min(step + batches, order_.batches);
    announced_.clear();
    for (auto each = step; each < announced_until_; ++each) {
        const auto samples = order_.batch(each).samples;
        announced_.insert(announced_.end(), samples.begin(), samples.end());
    }
    data_->expect(announced_);
}

}  // namespace dtrain::data
