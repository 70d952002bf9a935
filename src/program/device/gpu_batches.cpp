// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/device/gpu_batches.hpp"

#include <utility>

namespace dtrain::program {

GpuBatches::GpuBatches(std::shared_ptr<kernels::Gpu> gpu, std::vector<StateTensor> data)
    : gpu_(std::move(gpu)) {
    if (data.empty()) return;
    device_ = neighbours_of(std::move(data));
    host_ = gpu_->allocate_host(device_.bytes);
    staging_ = gpu_->allocate(device_.bytes);
    uploads_ = gpu_->uploads();
    for (const auto& [tensor, host] : device_.offsets)
        views_.emplace(tensor.name, TensorView{host_.get() + host, tensor.view.shape, tensor.view.type});
}

TensorView GpuBatches::on_host(const std::string& variable) const {
    return views_.at(variable);
}

// Not part of a graph: that way only the copies, not the whole step, delay the upload of the next batch.
void GpuBatches::bring() {
    if (!uploads_) return;
    uploads_->to_gpu(staging_.get(), host_.get(), device_.bytes);
    uploads_->take();
    for (const auto& [device, from, bytes] : device_.segments)
        gpu_->copy(device, staging_.get() + from, bytes);
    uploads_->release();
}

void GpuBatches::settle() {
    if (uploads_) uploads_->finish();
}

}  // namespace dtrain::program
