// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/gpu_sums.hpp"

#include <cstdint>
#include <utility>

namespace dtrain::program {

GpuSums::GpuSums(std::shared_ptr<kernels::Gpu> gpu, std::span<float> gradients)
    : gpu_(std::move(gpu)),
      gradients_(gradients),
      sums_(gpu_->allocate(gradients.size_bytes())),
      before_(gpu_->allocate(gradients.size_bytes())) {
    const auto seen = [&](void* data) {
        return TensorView{data, {static_cast<std::int64_t>(gradients_.size())}, DataType::float32};
    };
    add_ = gpu_->make_kernel(
        "sum",
        {{{"x", seen(before_.get())}, {"x", seen(gradients_.data())}}, {{"out", seen(sums_.get())}}, {}});
}

void GpuSums::set() {
    gpu_->copy(sums_.get(), gradients_.data(), gradients_.size_bytes());
}

void GpuSums::add() {
    gpu_->copy(before_.get(), sums_.get(), gradients_.size_bytes());
    add_->run();
}

void GpuSums::give_back() {
    gpu_->copy(gradients_.data(), sums_.get(), gradients_.size_bytes());
}

}  // namespace dtrain::program
