// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "worker/native/feeder.hpp"

#include <algorithm>
#include <utility>

#include "worker/native/model.hpp"

namespace dtrain::native {

Feeder::Feeder(std::shared_ptr<const DataSource> data, const DistributedSampler::Options& sampling)
    : data_(std::move(data)), sampler_(sampling) {
    // In memory a batch is gathered as fast as it would be copied from another thread's.
    if (data_->lookahead() > 0) prefetcher_ = std::make_unique<io::Prefetcher>(data_, sampler_);
}

void Feeder::start(std::int64_t epoch, std::int64_t first_step) {
    step_ = first_step;
    if (prefetcher_)
        prefetcher_->start(epoch, first_step);
    else
        sampler_.start_epoch(epoch);
}

void Feeder::feed(Executor& executor) {
    const auto x = executor.feed<float>(fed_x);
    const auto label = executor.feed<std::int64_t>(fed_label);
    const auto weight = executor.feed<float>(fed_weight);
    if (prefetcher_) {
        const auto& batch = prefetcher_->next();
        std::ranges::copy(batch.x, x.begin());
        std::ranges::copy(batch.labels, label.begin());
        std::ranges::copy(batch.weights, weight.begin());
        return;
    }
    const auto batch = sampler_.batch(step_++);
    data_->gather(batch.samples, x, label);
    std::ranges::copy(batch.weights, weight.begin());
}

}  // namespace dtrain::native
