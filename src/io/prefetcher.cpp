// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "io/prefetcher.hpp"

#include <algorithm>
#include <utility>

namespace dtrain::io {

Prefetcher::Prefetcher(std::shared_ptr<const DataSource> data, const DistributedSampler& sampler,
                       std::size_t depth)
    : data_(std::move(data)),
      ring_(std::max<std::size_t>(2, depth)),
      sampler_(sampler),
      batches_({.count = static_cast<std::int64_t>(ring_.size())},
               [this](std::int64_t step, std::int64_t) { prepare(step); }) {
    const auto rows = static_cast<std::size_t>(sampler_.local_batch());
    for (auto& batch : ring_) {
        batch.x.resize(rows * static_cast<std::size_t>(data_->features()));
        batch.labels.resize(rows);
        batch.weights.resize(rows);
    }
}

void Prefetcher::start(std::int64_t epoch, std::int64_t first_step) {
    batches_.start(first_step, sampler_.batches(), [&] {
        sampler_.start_epoch(epoch);
        announced_until_ = first_step;
    });
}

const PreparedBatch& Prefetcher::next() {
    return ring_[static_cast<std::size_t>(batches_.next())];
}

void Prefetcher::prepare(std::int64_t step) {
    announce(step);
    auto& batch = ring_[static_cast<std::size_t>(step) % ring_.size()];
    const auto part = sampler_.batch(step);
    batch.x.resize(part.samples.size() * static_cast<std::size_t>(data_->features()));
    batch.labels.resize(part.samples.size());
    batch.weights.resize(part.samples.size());
    data_->gather(part.samples, batch.x, batch.labels);
    std::ranges::copy(part.weights, batch.weights.begin());
}

void Prefetcher::announce(std::int64_t step) {
    const auto batches = data_->lookahead() / sampler_.local_batch();
    if (batches < 1 || step < announced_until_) return;
    announced_until_ = std::min(step + batches, sampler_.batches());
    announced_.clear();
    for (auto each = step; each < announced_until_; ++each) {
        const auto samples = sampler_.batch(each).samples;
        announced_.insert(announced_.end(), samples.begin(), samples.end());
    }
    data_->expect(announced_);
}

}  // namespace dtrain::io
