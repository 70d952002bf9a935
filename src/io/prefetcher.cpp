// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "io/prefetcher.hpp"

#include <algorithm>
#include <utility>

#include <dtrain/error.hpp>

#include "base/quiet_thread.hpp"

namespace dtrain::io {

Prefetcher::Prefetcher(std::shared_ptr<const DataSource> data, const DistributedSampler& sampler,
                       std::size_t depth)
    : data_(std::move(data)), sampler_(sampler), ring_(std::max<std::size_t>(2, depth)) {
    const auto rows = static_cast<std::size_t>(sampler_.local_batch());
    for (auto& batch : ring_) {
        batch.x.resize(rows * static_cast<std::size_t>(data_->features()));
        batch.labels.resize(rows);
        batch.weights.resize(rows);
    }
    prepared_ = taken_ = sampler_.batches();  // nothing to do before start()
    thread_ = quiet_thread([this] { work(); });
}

Prefetcher::~Prefetcher() {
    {
        const std::scoped_lock lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Prefetcher::start(std::int64_t epoch, std::int64_t first_step) {
    std::unique_lock lock(mutex_);
    prepared_ = sampler_.batches();
    changed_.wait(lock, [this] { return !works_; });
    sampler_.start_epoch(epoch);
    announced_until_ = first_step;
    prepared_ = taken_ = first_step;
    in_use_ = false;
    failure_ = nullptr;
    changed_.notify_all();
}

const PreparedBatch& Prefetcher::next() {
    std::unique_lock lock(mutex_);
    in_use_ = false;
    changed_.notify_all();
    if (taken_ >= sampler_.batches()) throw Error("an epoch has no batch " + std::to_string(taken_));
    changed_.wait(lock, [this] { return prepared_ > taken_ || failure_; });
    if (prepared_ <= taken_) std::rethrow_exception(failure_);
    in_use_ = true;
    return ring_[static_cast<std::size_t>(taken_++) % ring_.size()];
}

void Prefetcher::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        const auto has_room = [this] {
            const auto oldest = taken_ - (in_use_ ? 1 : 0);
            return prepared_ < sampler_.batches() && !failure_ &&
                   prepared_ - oldest < static_cast<std::int64_t>(ring_.size());
        };
        changed_.wait(lock, [&] { return ends_ || has_room(); });
        if (ends_) return;
        const auto step = prepared_;
        works_ = true;
        lock.unlock();
        std::exception_ptr failure;
        try {
            prepare(step, ring_[static_cast<std::size_t>(step) % ring_.size()]);
        } catch (...) {
            failure = std::current_exception();
        }
        lock.lock();
        works_ = false;
        if (prepared_ == step) {  // else start() wants something else
            failure_ = failure;
            if (!failure) ++prepared_;
        }
        changed_.notify_all();
    }
}

void Prefetcher::prepare(std::int64_t step, PreparedBatch& batch) {
    announce(step);
    const auto part = sampler_.batch(step);
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
