// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "eager/block_pool.hpp"
#include "kernels/gpu.hpp"

namespace dtrain::eager {

/// The way between this process' memory and that of a GPU, which computes meanwhile. There is one for the
/// GPU's whole life.
class Transfers {
  public:
    explicit Transfers(std::shared_ptr<kernels::Gpu> gpu);

    /// Memory here of any content.
    std::shared_ptr<std::byte> take_on_host(std::size_t bytes) { return host_->take(bytes); }

    /// What the GPU is given from now on finds it there; nobody writes here before settle(). Waits where the
    /// GPU is many of them behind.
    void up(std::byte* device, const std::shared_ptr<std::byte>& host, std::size_t bytes);
    /// Waits until the GPU has read all that was to go up.
    void settle();

    /// It is here when the GPU has computed what it was given.
    void down(std::byte* host, const std::byte* device, std::size_t bytes) {
        gpu_->to_host(host, device, bytes);
    }
    /// Waits for that. @throws Error as Gpu::finish()
    void finish();

    /// Something that the GPU may use lives until it has computed what it was given up to now.
    void keep(std::shared_ptr<void> used) { kept_.push_back(std::move(used)); }
    /// Waits where there is much of that. @throws Error as finish()
    void keep_few();

  private:
    std::shared_ptr<kernels::Gpu> gpu_;
    std::shared_ptr<BlockPool> host_;
    std::shared_ptr<BlockPool> staging_;  // there; uploads alone write to it
    std::unique_ptr<kernels::Gpu::Uploads> uploads_;
    std::vector<std::shared_ptr<std::byte>> unread_;
    std::size_t unread_bytes_ = 0;
    std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace dtrain::eager
