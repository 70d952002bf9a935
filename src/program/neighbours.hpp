// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <dtrain/executor.hpp>

namespace dtrain::program {

/// Tensors that lie beside each other on a GPU, in the same order in a block of memory of their own.
struct Neighbours {
    struct Segment {
        std::byte* device;
        std::size_t host;  ///< from the block's beginning
        std::size_t bytes;
    };
    /// A tensor of the given ones.
    struct Place {
        StateTensor tensor;
        std::size_t host;
    };
    std::vector<Segment> segments;
    std::vector<Place> places;
    std::size_t bytes = 0;  ///< of the block
};

/// @param tensors where they are there, each followed by what alignment leaves free
Neighbours neighbours_of(std::vector<StateTensor> tensors);

}  // namespace dtrain::program
