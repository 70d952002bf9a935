// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>

#include "kernels/gpu.hpp"
#include "program/state/neighbours.hpp"

namespace dtrain::program {

/// The data variables of a program on a GPU. The caller writes them in host memory; the next batch is
/// uploaded to a separate staging buffer while the current step runs, and copied to the variables once that
/// step is done.
class GpuBatches {
  public:
    /// @param data the variables with their device tensors
    GpuBatches(std::shared_ptr<kernels::Gpu> gpu, std::vector<StateTensor> data);

    TensorView on_host(const std::string& variable) const;
    bool has(const std::string& variable) const { return views_.contains(variable); }

    /// Uploads the current host data: work enqueued from now on uses them.
    void bring();
    /// Waits until the host data have been read.
    void settle();

  private:
    std::shared_ptr<kernels::Gpu> gpu_;
    Neighbours device_;  // also adjacent in host memory
    std::map<std::string, TensorView, std::less<>> views_;
    kernels::Gpu::Memory host_;
    kernels::Gpu::Memory staging_;
    std::unique_ptr<kernels::Gpu::Uploads> uploads_;
};

}  // namespace dtrain::program
