// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "eager/transfers.hpp"

namespace dtrain::eager {

/// Memory here for numbers that kernels have on a GPU. Who wants to use one of the two says so before, and
/// gets what was written to the other.
class Mirror {
  public:
    /// @param transfers outlives it
    /// @param there which kernels write next
    Mirror(Transfers& transfers, std::byte* device, std::size_t bytes)
        : transfers_(transfers), device_(device), bytes_(bytes) {}

    /// Kernels read it from now on.
    void read_on_device();
    /// Kernels have written it, or are about to write all of it.
    void note_written_on_device() { newer_ = Newer::device; }

    /// This process reads it; it stays where it is. @throws Error as Gpu::finish()
    std::byte* read_on_host();
    /// The same, and writes to it as well.
    std::byte* write_on_host();
    /// The same, and writes all of it, whatever it was.
    std::byte* fill_on_host();

    /// Here is what is there now as soon as somebody has waited for the GPU.
    void start_reading_to_host();

  private:
    enum class Newer : std::uint8_t { none, host, device };

    Transfers& transfers_;
    std::byte* device_;
    std::size_t bytes_;
    std::shared_ptr<std::byte> host_;
    Newer newer_ = Newer::device;
    bool is_being_read_ = false;  // here, by the GPU
};

}  // namespace dtrain::eager
