// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/gpu.hpp"
#include "parallel/bucket_memory.hpp"

namespace dtrain::eager {

/// Arrays and buckets in memory of the GPU that this process' tensors are on; in the stream of its kernels.
class GpuBuckets final : public parallel::BucketMemory {
  public:
    /// @param gpu must outlive this object
    explicit GpuBuckets(kernels::Gpu& gpu) : gpu_(gpu) {}

    void copy(std::span<const std::byte> from, std::span<std::byte> to) override {
        gpu_.copy(to.data(), from.data(), from.size());
    }
    void set_to_zero(const ElementSpan& elements) override;
    void divide(const ElementSpan& from, int parts, const ElementSpan& to) override;

  private:
    kernels::Gpu& gpu_;
};

}  // namespace dtrain::eager
