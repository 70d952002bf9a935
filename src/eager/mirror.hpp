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
    Mirror(Transfers& transfers, std::byte* there, std::size_t bytes)
        : transfers_(transfers), there_(there), bytes_(bytes) {}

    /// Kernels read it from now on.
    void read_there();
    /// Kernels have written it, or are about to write all of it.
    void note_written_there() { newer_ = Newer::there; }

    /// This process reads it; it stays where it is. @throws Error as Gpu::finish()
    std::byte* read_here();
    /// The same, and writes to it as well.
    std::byte* write_here();
    /// The same, and writes all of it, whatever it was.
    std::byte* fill_here();

    /// Here is what is there now as soon as somebody has waited for the GPU.
    void start_reading_here();

  private:
    enum class Newer : std::uint8_t { none, here, there };

    Transfers& transfers_;
    std::byte* there_;
    std::size_t bytes_;
    std::shared_ptr<std::byte> here_;
    Newer newer_ = Newer::there;
    bool is_being_read_ = false;  // here, by the GPU
};

}  // namespace dtrain::eager
