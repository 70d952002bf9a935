// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "kernels/gpu.hpp"
#include "program/exchange/gradient_sums.hpp"

namespace dtrain::program {

/// Sums of gradients on the GPU.
class GpuSums final : public GradientSums {
  public:
    GpuSums(std::shared_ptr<kernels::Gpu> gpu, std::span<float> gradients, std::size_t slots);

    void set(std::size_t slot) override;
    void add(std::size_t slot) override { add_[slot]->run(); }
    void merge(std::size_t slot) override { merge_[slot]->run(); }
    void give_back() override;
    /// @throws Error as Gpu::finish()
    std::vector<std::span<const float>> on_host(std::size_t count) override;
    void give_back(std::span<const float> values) override;

  private:
    std::unique_ptr<kernels::Kernel> make_add(void* sum, void* added);

    std::shared_ptr<kernels::Gpu> gpu_;
    std::span<float> gradients_;
    std::vector<kernels::Gpu::Memory> sums_;
    std::vector<kernels::Gpu::Memory> host_;               // of those sums that were requested on the host
    std::vector<std::unique_ptr<kernels::Kernel>> add_;    // by slot
    std::vector<std::unique_ptr<kernels::Kernel>> merge_;  // by slot
};

}  // namespace dtrain::program
