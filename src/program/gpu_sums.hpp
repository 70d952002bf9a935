// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "kernels/gpu.hpp"
#include "program/gradient_sums.hpp"

namespace dtrain::program {

/// On the GPU where the gradients are.
class GpuSums final : public GradientSums {
  public:
    GpuSums(std::shared_ptr<kernels::Gpu> gpu, std::span<float> gradients);

    void set() override;
    void add() override;
    void give_back() override;

  private:
    std::shared_ptr<kernels::Gpu> gpu_;
    std::span<float> gradients_;
    kernels::Gpu::Memory sums_;
    kernels::Gpu::Memory before_;  // without the last batch
    std::unique_ptr<kernels::Kernel> add_;
};

}  // namespace dtrain::program
