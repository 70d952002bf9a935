// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <vector>

#include "kernels/gpu.hpp"
#include "nn/block_pool.hpp"

namespace dtrain::eager {

/// Transfers between host memory and that of a GPU, concurrent with its computing. One object for the GPU's
/// whole lifetime.
class Transfers {
  public:
    explicit Transfers(std::shared_ptr<kernels::Gpu> gpu);

    /// Uninitialised host memory.
    std::shared_ptr<std::byte> take_on_host(std::size_t bytes) { return host_->take(bytes); }

    /// Uploads for work enqueued from now on; the host memory must not be written before settle(). Waits if
    /// many uploads are pending.
    void up(std::byte* device, const std::shared_ptr<std::byte>& host, std::size_t bytes);
    /// Waits until the GPU has read the host memory of all uploads.
    void settle();

    /// Downloads the result of everything enqueued so far.
    void down(std::byte* host, const std::byte* device, std::size_t bytes) {
        gpu_->to_host(host, device, bytes);
    }
    /// Waits for downloads. @throws Error as Gpu::finish()
    void finish();
    /// finish(), whose error is thrown by the next one.
    void finish_later_reported() noexcept;

    /// Keeps something alive until the GPU has executed everything enqueued so far.
    void keep(std::shared_ptr<void> used) { kept_.push_back(std::move(used)); }
    /// Waits if there are many such objects. @throws Error as finish()
    void keep_few();

  private:
    std::shared_ptr<kernels::Gpu> gpu_;
    std::shared_ptr<BlockPool> host_;
    std::shared_ptr<BlockPool> staging_;  // device memory; only uploads write to it
    std::unique_ptr<kernels::Gpu::Uploads> uploads_;
    std::vector<std::shared_ptr<std::byte>> unread_;
    std::size_t unread_bytes_ = 0;
    std::vector<std::shared_ptr<void>> kept_;
    std::exception_ptr reported_;
};

}  // namespace dtrain::eager
