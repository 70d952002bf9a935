// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include <dtrain/tensor.hpp>

#include "eager/mirror.hpp"

namespace dtrain::eager {

/// The numbers of a tensor, without how they came to be. Copies share the memory. "There" is where kernels
/// compute, "here" this process' memory, which on a CPU is the same.
struct Value {
    std::shared_ptr<std::byte> memory;  ///< there
    Shape shape;
    DataType type = DataType::float32;
    std::shared_ptr<Mirror> mirror = {};  ///< its memory here, where that is another

    /// For kernels. They are given them at once: what is written here later is not there.
    TensorView on_device() const;
    /// Kernels have written to it, or are about to write all of it.
    void note_written_on_device() const;

    /// To read. @throws Error of what a GPU was given before, as Gpu::finish()
    TensorView on_host() const;
    /// To read and to write.
    TensorView host_to_write() const;
    /// Lets it come here while kernels go on: here() shows it when somebody has waited for them.
    void start_reading_to_host() const;
    /// To write all of it: of any content.
    TensorView host_to_fill() const;

  private:
    TensorView view(std::byte* data) const { return {data, shape, type}; }
};

/// Of any content.
Value make_value(const Shape& shape, DataType type);

}  // namespace dtrain::eager
