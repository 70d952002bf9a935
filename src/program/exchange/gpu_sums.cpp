// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/exchange/gpu_sums.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace dtrain::program {

GpuSums::GpuSums(std::shared_ptr<kernels::Gpu> gpu, std::span<float> gradients, std::size_t slots)
    : gpu_(std::move(gpu)), gradients_(gradients) {
    for (std::size_t slot = 0; slot < slots; ++slot) {
        sums_.push_back(gpu_->allocate(gradients.size_bytes()));
        add_.push_back(make_add(sums_[slot].get(), gradients.data()));
        if (slot > 0) merge_.push_back(make_add(sums_[slot - 1].get(), sums_[slot].get()));
    }
}

// A sum on the GPU may be stored in one of its terms.
std::unique_ptr<kernels::Kernel> GpuSums::make_add(void* sum, void* added) {
    const auto seen = [&](void* data) {
        return TensorView{data, {static_cast<std::int64_t>(gradients_.size())}, DataType::float32};
    };
    return gpu_->make_kernel("sum", {{{"x", seen(sum)}, {"x", seen(added)}}, {{"out", seen(sum)}}, {}});
}

void GpuSums::set(std::size_t slot) {
    gpu_->copy(sums_[slot].get(), gradients_.data(), gradients_.size_bytes());
}

void GpuSums::give_back() {
    gpu_->copy(gradients_.data(), sums_.front().get(), gradients_.size_bytes());
}

std::vector<std::span<const float>> GpuSums::on_host(std::size_t count) {
    std::vector<std::span<const float>> sums;
    for (std::size_t slot = 0; slot < count; ++slot) {
        if (slot == host_.size()) host_.push_back(gpu_->allocate_host(gradients_.size_bytes()));
        auto* const to = host_[slot].get();
        gpu_->to_host(to, sums_[slot].get(), gradients_.size_bytes());
        sums.emplace_back(reinterpret_cast<const float*>(to), gradients_.size());
    }
    gpu_->finish();
    return sums;
}

// Through pinned memory of the first host copy, whose sums are no longer needed.
void GpuSums::give_back(std::span<const float> values) {
    auto* const from = host_.front().get();
    std::memcpy(from, values.data(), gradients_.size_bytes());
    gpu_->to_gpu(gradients_.data(), from, gradients_.size_bytes());
}

}  // namespace dtrain::program
