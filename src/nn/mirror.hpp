// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/newer_copy.hpp"
#include "nn/transfers.hpp"

namespace dtrain::eager {

/// A host copy of device memory of a GPU. Before either copy is used, one of these functions is called, which
/// transfers what was written to the other copy.
class Mirror {
  public:
    /// @param transfers must outlive this object
    /// @param device memory that kernels write first
    Mirror(Transfers& transfers, std::byte* device, std::size_t bytes)
        : transfers_(transfers), device_(device), bytes_(bytes) {}

    /// Call it before kernels read the device memory.
    void read_on_device();
    /// Call it when kernels have written it, or are about to overwrite all of it.
    void note_written_on_device() { newer_.note_written_on_device(); }

    /// Call it before reading the host copy, whose address does not change. @throws Error as Gpu::finish()
    std::byte* read_on_host();
    /// The same, for reading and writing.
    std::byte* write_on_host();
    /// The same, for overwriting all of it; the previous contents are lost.
    std::byte* fill_on_host();

    /// Starts a download of the current values, which is complete after the next wait for the GPU.
    void start_reading_to_host();

  private:
    Transfers& transfers_;
    std::byte* device_;
    std::size_t bytes_;
    std::shared_ptr<std::byte> host_;
    kernels::NewerCopy newer_ = kernels::NewerCopy::on_device();
    bool is_being_read_ = false;  // an upload from the host copy may be pending
};

}  // namespace dtrain::eager
