// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "nn/transfers.hpp"

#include <utility>

namespace dtrain::eager {

Transfers::Transfers(std::shared_ptr<kernels::Gpu> gpu)
    : gpu_(std::move(gpu)),
      host_(
          std::make_shared<BlockPool>([gpu = gpu_](std::size_t bytes) { return gpu->allocate_host(bytes); })),
      staging_(std::make_shared<BlockPool>([gpu = gpu_](std::size_t bytes) { return gpu->allocate(bytes); })),
      uploads_(gpu_->uploads()) {}

// Uses a staging buffer that kernels do not use, so the upload overlaps with the GPU's computing. A staging
// block may be reused at once: an upload waits until earlier ones have been copied from there.
void Transfers::up(std::byte* device, const std::shared_ptr<std::byte>& host, std::size_t bytes) {
    constexpr std::size_t max = 16;
    constexpr std::size_t max_bytes = std::size_t{16} << 20;
    if (unread_.size() >= max || unread_bytes_ >= max_bytes) settle();
    const auto staged = staging_->take(bytes);
    uploads_->to_gpu(staged.get(), host.get(), bytes);
    uploads_->take();
    gpu_->copy(device, staged.get(), bytes);
    uploads_->release();
    unread_.push_back(host);
    unread_bytes_ += bytes;
}

void Transfers::finish() {
    if (const auto reported = std::exchange(reported_, nullptr)) std::rethrow_exception(reported);
    gpu_->finish();
    kept_.clear();
}

void Transfers::finish_later_reported() noexcept {
    try {
        finish();
    } catch (...) {
        reported_ = std::current_exception();
    }
}

void Transfers::keep_few() {
    constexpr std::size_t max = 1024;
    if (kept_.size() > max) finish();
}

void Transfers::settle() {
    if (unread_.empty()) return;
    uploads_->finish();
    unread_.clear();
    unread_bytes_ = 0;
}

}  // namespace dtrain::eager
