// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/state_on_gpu.hpp"

#include <utility>

#include <dtrain/error.hpp>

namespace dtrain::program {

StateOnGpu::StateOnGpu(std::shared_ptr<kernels::Gpu> gpu, int number, std::byte* here, std::size_t bytes)
    : gpu_(std::move(gpu)), number_(number), here_(here), bytes_(bytes), memory_(gpu_->allocate(bytes)) {}

void StateOnGpu::throw_reported() {
    if (!reported_.empty()) throw Error(std::exchange(reported_, {}));
}

void StateOnGpu::finish_later_reported() noexcept {
    try {
        gpu_->finish();
    } catch (const std::exception& error) {
        reported_ = error.what();
    }
}

void StateOnGpu::read_there() {
    throw_reported();
    if (newer_ != Newer::here) return;
    gpu_->to_gpu(memory_.get(), here_, bytes_);
    gpu_->finish();  // the caller may write here again
    newer_ = Newer::none;
}

void StateOnGpu::write_there() {
    read_there();
    newer_ = Newer::there;
}

void StateOnGpu::read_here() {
    throw_reported();
    if (newer_ != Newer::there) return;
    gpu_->to_host(here_, memory_.get(), bytes_);
    gpu_->finish();
    newer_ = Newer::none;
}

void StateOnGpu::write_here() {
    read_here();
    newer_ = Newer::here;
}

}  // namespace dtrain::program
