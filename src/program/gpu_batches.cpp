// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/gpu_batches.hpp"

#include <utility>

namespace dtrain::program {

GpuBatches::GpuBatches(std::shared_ptr<kernels::Gpu> gpu, std::vector<StateTensor> data)
    : gpu_(std::move(gpu)) {
    if (data.empty()) return;
    there_ = neighbours_of(std::move(data));
    here_ = gpu_->allocate_host(there_.bytes);
    staging_ = gpu_->allocate(there_.bytes);
    uploads_ = gpu_->uploads();
    for (const auto& [tensor, here] : there_.places)
        views_.emplace(tensor.name, TensorView{here_.get() + here, tensor.view.shape, tensor.view.type});
}

TensorView GpuBatches::here(const std::string& variable) const {
    return views_.at(variable);
}

// Not part of a graph: the copies alone, not the whole step, keep the next batch from coming.
void GpuBatches::bring() {
    if (!uploads_) return;
    uploads_->to_gpu(staging_.get(), here_.get(), there_.bytes);
    uploads_->take();
    for (const auto& [there, from, bytes] : there_.segments) gpu_->copy(there, staging_.get() + from, bytes);
    uploads_->release();
}

void GpuBatches::settle() {
    if (uploads_) uploads_->finish();
}

}  // namespace dtrain::program
