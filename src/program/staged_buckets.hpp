// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "kernels/gpu.hpp"

namespace dtrain::program {

/// Host copies of gradient buckets on a GPU, which MPI reduces.
class StagedBuckets {
  public:
    /// @param all on the GPU
    StagedBuckets(std::shared_ptr<kernels::Gpu> gpu, std::span<float> all);

    /// Downloads the current values of a part of them. @throws Error as Gpu::finish()
    std::span<float> take(std::span<float> bucket);
    void give_back(std::span<float> bucket);

  private:
    std::span<float> on_host(std::span<float> bucket) const;

    std::shared_ptr<kernels::Gpu> gpu_;
    float* device_;
    kernels::Gpu::Memory memory_;
};

}  // namespace dtrain::program
