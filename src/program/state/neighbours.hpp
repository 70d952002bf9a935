// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include <dtrain/executor.hpp>

namespace dtrain::program {

/// Tensors that are adjacent on a GPU, with their layout in a separate block of memory in the same order.
struct Neighbours {
    struct Segment {
        std::byte* device;
        std::size_t host;  ///< offset in the block
        std::size_t bytes;
    };
    /// One of the given tensors.
    struct TensorOffset {
        StateTensor tensor;
        std::size_t host;
    };
    std::vector<Segment> segments;
    std::vector<TensorOffset> offsets;
    std::size_t bytes = 0;  ///< size of the block
};

/// @param tensors device tensors, each followed by its alignment padding
Neighbours neighbours_of(std::vector<StateTensor> tensors);

}  // namespace dtrain::program
