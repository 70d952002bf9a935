// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "model/sample_feeder.hpp"

#include <algorithm>
#include <utility>

namespace dtrain::model {

SampleFeeder::SampleFeeder(std::shared_ptr<const DataSource> data,
                           const DistributedSampler::Options& sampling, const FedNames& names)
    : train::Feeder(sampling), data_(std::move(data)), names_(names) {
    // From memory, gathering a batch is as fast as copying it from another thread's buffer.
    if (data_->lookahead() > 0)
        prefetcher_ = std::make_unique<data::Prefetcher>(data_, DistributedSampler(sampling));
}

void SampleFeeder::bind(Executor& executor) {
    x_ = executor.feed<float>(names_.x);
    if (!names_.label.empty()) {
        label_ = executor.feed<std::int64_t>(names_.label);
    } else {
        no_labels_.resize(static_cast<std::size_t>(local_batch()));
        label_ = no_labels_;
    }
    if (!names_.weight.empty()) weight_ = executor.feed<float>(names_.weight);
}

void SampleFeeder::start(std::int64_t epoch, std::int64_t first_step) {
    if (prefetcher_)
        prefetcher_->start(epoch, first_step * parts());
    else
        train::Feeder::start(epoch, first_step);
}

void SampleFeeder::feed() {
    if (prefetcher_) {
        const auto& batch = prefetcher_->next();
        std::ranges::copy(batch.x, x_.begin());
        std::ranges::copy(batch.labels, label_.begin());
        if (!weight_.empty()) std::ranges::copy(batch.weights, weight_.begin());
        return;
    }
    const auto batch = next_batch();
    data_->gather(batch.samples, x_, label_);
    if (!weight_.empty()) std::ranges::copy(batch.weights, weight_.begin());
}

}  // namespace dtrain::model
