// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "kernels/gpu.hpp"
#include "kernels/newer_copy.hpp"

namespace dtrain::program {

/// A copy of a State's memory block on a GPU. Before either copy is used, one of these functions is called,
/// which transfers what was written to the other copy.
class StateOnGpu {
  public:
    /// @param number as passed to open_gpu()
    StateOnGpu(std::shared_ptr<kernels::Gpu> gpu, int number, std::byte* host, std::size_t bytes);

    const std::shared_ptr<kernels::Gpu>& gpu() const { return gpu_; }
    int number() const { return number_; }
    std::byte* memory() const { return memory_.get(); }

    /// Call it before the GPU reads, or also writes, the device copy.
    void read_on_device();
    void write_on_device();

    /// The same for the host copy. @throws Error about earlier work of the GPU, as Gpu::finish()
    void read_on_host();
    void write_on_host();

    /// Like Gpu::finish(), but the error is reported at the next use of either copy.
    void finish_later_reported() noexcept;

  private:
    void throw_reported();

    std::shared_ptr<kernels::Gpu> gpu_;
    int number_;
    std::byte* host_;
    std::size_t bytes_;
    kernels::Gpu::Memory memory_;
    kernels::NewerCopy newer_ = kernels::NewerCopy::on_host();
    std::string reported_;
};

}  // namespace dtrain::program
