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

    /// The copy of a part of them, which stays where it is.
    std::span<float> on_host(std::span<float> bucket) const;

    /// Downloads the current values of a part. @throws Error as Gpu::finish()
    void take(std::span<float> bucket);
    void give_back(std::span<float> bucket);

  private:
    std::shared_ptr<kernels::Gpu> gpu_;
    float* device_;
    kernels::Gpu::Memory memory_;
};

}  // namespace dtrain::program
