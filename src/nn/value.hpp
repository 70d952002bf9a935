// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include <dtrain/tensor.hpp>

#include "nn/mirror.hpp"

namespace dtrain::eager {

/// The values of a tensor, without how they were computed. Copies share the memory. "Device memory" is where
/// kernels compute, "host memory" that of this process; on a CPU both are the same.
struct Value {
    std::shared_ptr<std::byte> memory;  ///< device memory
    Shape shape;
    DataType type = DataType::float32;
    std::shared_ptr<Mirror> mirror = {};  ///< its host copy, if host memory is separate

    /// For kernels, which must be enqueued at once: later changes on the host are not transferred.
    TensorView on_device() const;
    /// Call it when kernels have written the value, or are about to overwrite all of it.
    void note_written_on_device() const;

    /// For reading. @throws Error of earlier work of a GPU, as Gpu::finish()
    TensorView on_host() const;
    /// For reading and writing.
    TensorView host_to_write() const;
    /// Starts a download while kernels continue: on_host() has the values after the next wait for the GPU.
    void start_reading_to_host() const;
    /// For overwriting all of it; the previous contents are lost.
    TensorView host_to_fill() const;

  private:
    TensorView view(std::byte* data) const { return {data, shape, type}; }
};

/// Uninitialised.
Value make_value(const Shape& shape, DataType type);

}  // namespace dtrain::eager
