// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>

#include "kernels/gpu.hpp"
#include "program/neighbours.hpp"

namespace dtrain::program {

/// The data variables of a program on a GPU. The caller writes them in memory here; the next batch is brought
/// beside the running step, to a place of its own there, and from it to the variables when that step is done.
class GpuBatches {
  public:
    /// @param data the variables and where they are there
    GpuBatches(std::shared_ptr<kernels::Gpu> gpu, std::vector<StateTensor> data);

    TensorView on_host(const std::string& variable) const;
    bool has(const std::string& variable) const { return views_.contains(variable); }

    /// What the GPU is given from now on finds what is written here now.
    void bring();
    /// Waits until it has been read.
    void settle();

  private:
    std::shared_ptr<kernels::Gpu> gpu_;
    Neighbours device_;  // which are neighbours here as well
    std::map<std::string, TensorView, std::less<>> views_;
    kernels::Gpu::Memory host_;
    kernels::Gpu::Memory staging_;
    std::unique_ptr<kernels::Gpu::Uploads> uploads_;
};

}  // namespace dtrain::program
