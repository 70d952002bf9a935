// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/gpu_batches.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "program/aligned_memory.hpp"

namespace dtrain::program {
namespace {

std::byte* begin_of(const StateTensor& tensor) {
    return static_cast<std::byte*>(tensor.view.data);
}

}  // namespace

GpuBatches::GpuBatches(std::shared_ptr<kernels::Gpu> gpu, std::vector<StateTensor> data)
    : gpu_(std::move(gpu)) {
    if (data.empty()) return;
    lay_out(std::move(data));
    here_ = gpu_->allocate_host(bytes_);
    staging_ = gpu_->allocate(bytes_);
    uploads_ = gpu_->uploads();
    for (auto& [name, view] : views_) view.data = here_.get() + offsets_.at(name);
}

void GpuBatches::lay_out(std::vector<StateTensor> data) {
    std::ranges::sort(data, std::less{}, begin_of);
    for (const auto& tensor : data) {
        const auto bytes = aligned(tensor.view.bytes());
        const bool follows =
            !stretches_.empty() && stretches_.back().there + stretches_.back().bytes == begin_of(tensor);
        if (!follows) stretches_.push_back({begin_of(tensor), bytes_, 0});
        stretches_.back().bytes += bytes;
        offsets_.emplace(tensor.name, bytes_);
        views_.emplace(tensor.name, tensor.view);
        bytes_ += bytes;
    }
}

TensorView GpuBatches::here(const std::string& variable) const {
    return views_.at(variable);
}

// Not part of a recording: the copies alone, not the whole step, keep the next batch from coming.
void GpuBatches::bring() {
    if (!uploads_) return;
    uploads_->to_gpu(staging_.get(), here_.get(), bytes_);
    uploads_->take();
    for (const auto& [there, from, bytes] : stretches_) gpu_->copy(there, staging_.get() + from, bytes);
    uploads_->release();
}

void GpuBatches::settle() {
    if (uploads_) uploads_->finish();
}

}  // namespace dtrain::program
