// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "kernels/gpu.hpp"

namespace dtrain::program {

/// The block of memory of a State once more on a GPU. Who wants to use one of the two says so before, and
/// gets what was written to the other.
class StateOnGpu {
  public:
    /// @param number as open_gpu() was given it
    StateOnGpu(std::shared_ptr<kernels::Gpu> gpu, int number, std::byte* host, std::size_t bytes);

    const std::shared_ptr<kernels::Gpu>& gpu() const { return gpu_; }
    int number() const { return number_; }
    std::byte* memory() const { return memory_.get(); }

    /// The GPU reads it from now on, or writes it as well.
    void read_on_device();
    void write_on_device();

    /// The same for this process. @throws Error of what the GPU was given before, as Gpu::finish()
    void read_on_host();
    void write_on_host();

    /// Like Gpu::finish(), but whoever uses either of the two next gets the error.
    void finish_later_reported() noexcept;

  private:
    enum class Newer : std::uint8_t { none, host, device };

    void throw_reported();

    std::shared_ptr<kernels::Gpu> gpu_;
    int number_;
    std::byte* host_;
    std::size_t bytes_;
    kernels::Gpu::Memory memory_;
    Newer newer_ = Newer::host;
    std::string reported_;
};

}  // namespace dtrain::program
