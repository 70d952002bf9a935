// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include <dtrain/tensor.hpp>

#include "kernels/gpu.hpp"

namespace dtrain::kernels {

/// A copy in host memory of some memory of a GPU. Its parts are named by the GPU memory that they are copies
/// of. It knows nothing of which is newer.
class HostCopy {
  public:
    /// @param device all of the GPU's memory
    HostCopy(std::shared_ptr<Gpu> gpu, std::span<const std::byte> device)
        : gpu_(std::move(gpu)), device_(device.data()), memory_(gpu_->allocate_host(device.size())) {}

    HostCopy(std::shared_ptr<Gpu> gpu, const TensorView& device)
        : HostCopy(std::move(gpu), {static_cast<const std::byte*>(device.data), device.bytes()}) {}

    /// The host's address stays the same.
    template <class Value>
    std::span<std::remove_const_t<Value>> on_host(std::span<Value> device) const {
        return {static_cast<std::remove_const_t<Value>*>(host_of(device.data())), device.size()};
    }
    TensorView on_host(const TensorView& device) const {
        return {host_of(device.data), device.shape, device.type};
    }

    /// Enqueue the transfer of a part: the host's memory has been written, or read, after Gpu::finish().
    template <class Value>
    void download(std::span<Value> device) const {
        gpu_->to_host(host_of(device.data()), device.data(), device.size_bytes());
    }
    void download(const TensorView& device) const {
        gpu_->to_host(host_of(device.data), device.data, device.bytes());
    }
    template <class Value>
    void upload(std::span<Value> device) const {
        gpu_->to_gpu(device.data(), host_of(device.data()), device.size_bytes());
    }
    void upload(const TensorView& device) const {
        gpu_->to_gpu(device.data, host_of(device.data), device.bytes());
    }

    /// @throws Error as Gpu::finish()
    void finish() const { gpu_->finish(); }

  private:
    void* host_of(const void* device) const {
        return memory_.get() + (static_cast<const std::byte*>(device) - device_);
    }

    std::shared_ptr<Gpu> gpu_;
    const std::byte* device_;
    Gpu::Memory memory_;
};

}  // namespace dtrain::kernels
