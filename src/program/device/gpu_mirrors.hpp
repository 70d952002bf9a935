// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <dtrain/tensor.hpp>

#include "kernels/host_copy.hpp"

namespace dtrain::program {

/// Host copies of variables that a step has computed on a GPU, for those variables that are fetched.
class GpuMirrors {
  public:
    explicit GpuMirrors(std::shared_ptr<kernels::Gpu> gpu) : gpu_(std::move(gpu)) {}

    /// Marks the copies as outdated.
    void note_step() { ++steps_; }

    /// The memory stays at the same address. @throws Error as Gpu::finish()
    TensorView of(const std::string& variable, const TensorView& device);

  private:
    struct Mirror {
        kernels::HostCopy copy;
        std::int64_t step;
    };

    std::shared_ptr<kernels::Gpu> gpu_;
    std::map<std::string, Mirror, std::less<>> mirrors_;
    std::int64_t steps_ = 0;
};

}  // namespace dtrain::program
