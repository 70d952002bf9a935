// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/state/state_on_gpu.hpp"

#include <utility>

#include <dtrain/error.hpp>

namespace dtrain::program {

StateOnGpu::StateOnGpu(std::shared_ptr<kernels::Gpu> gpu, int number, std::byte* host, std::size_t bytes)
    : gpu_(std::move(gpu)), number_(number), host_(host), bytes_(bytes), memory_(gpu_->allocate(bytes)) {}

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

void StateOnGpu::read_on_device() {
    throw_reported();
    if (!newer_.needs_upload()) return;
    gpu_->to_gpu(memory_.get(), host_, bytes_);
    gpu_->finish();  // the caller may write to the host memory again
    newer_.note_alike();
}

void StateOnGpu::write_on_device() {
    read_on_device();
    newer_.note_written_on_device();
}

void StateOnGpu::read_on_host() {
    throw_reported();
    if (!newer_.needs_download()) return;
    gpu_->to_host(host_, memory_.get(), bytes_);
    gpu_->finish();
    newer_.note_alike();
}

void StateOnGpu::write_on_host() {
    read_on_host();
    newer_.note_written_on_host();
}

}  // namespace dtrain::program
