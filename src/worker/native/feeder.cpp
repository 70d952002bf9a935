// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/feeder.hpp"

#include <algorithm>
#include <utility>

#include "worker/native/model.hpp"

namespace dtrain::native {

FedMemory FedMemory::of(Executor& executor) {
    return {executor.feed<float>(fed_x), executor.feed<std::int64_t>(fed_label),
            executor.feed<float>(fed_weight)};
}

Feeder::Feeder(std::shared_ptr<const DataSource> data, const DistributedSampler::Options& sampling)
    : data_(std::move(data)), sampler_(sampling), parts_(sampling.parts) {
    // In memory a batch is gathered as fast as it would be copied from another thread's.
    if (data_->lookahead() > 0) prefetcher_ = std::make_unique<io::Prefetcher>(data_, sampler_);
}

void Feeder::start(std::int64_t epoch, std::int64_t first_step) {
    batch_ = first_step * parts_;
    if (prefetcher_)
        prefetcher_->start(epoch, batch_);
    else
        sampler_.start_epoch(epoch);
}

void Feeder::feed(const FedMemory& to) {
    if (prefetcher_) {
        const auto& batch = prefetcher_->next();
        std::ranges::copy(batch.x, to.x.begin());
        std::ranges::copy(batch.labels, to.label.begin());
        std::ranges::copy(batch.weights, to.weight.begin());
        return;
    }
    const auto batch = sampler_.batch(batch_++);
    data_->gather(batch.samples, to.x, to.label);
    std::ranges::copy(batch.weights, to.weight.begin());
}

}  // namespace dtrain::native
