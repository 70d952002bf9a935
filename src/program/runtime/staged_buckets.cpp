// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/runtime/staged_buckets.hpp"

#include <utility>

namespace dtrain::program {

StagedBuckets::StagedBuckets(std::shared_ptr<kernels::Gpu> gpu, std::span<float> all)
    : gpu_(std::move(gpu)), device_(all.data()), memory_(gpu_->allocate_host(all.size_bytes())) {}

std::span<float> StagedBuckets::on_host(std::span<float> bucket) const {
    return {reinterpret_cast<float*>(memory_.get()) + (bucket.data() - device_), bucket.size()};
}

void StagedBuckets::take(std::span<float> bucket) {
    gpu_->to_host(on_host(bucket).data(), bucket.data(), bucket.size_bytes());
    gpu_->finish();
}

void StagedBuckets::give_back(std::span<float> bucket) {
    gpu_->to_gpu(bucket.data(), on_host(bucket).data(), bucket.size_bytes());
}

}  // namespace dtrain::program
