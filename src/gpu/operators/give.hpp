// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "gpu/launch.hpp"
#include "gpu/on_device.hpp"
#include "gpu/operators.hpp"

namespace dtrain::gpu {

/// Number of threads for this many elements, valid for launch().
inline unsigned threads_for(std::size_t elements, std::size_t most = 256) {
    constexpr std::size_t warp = 32;
    return static_cast<unsigned>(std::clamp((elements + warp - 1) / warp * warp, warp, most));
}

/// A kernel that calls body(i) for each i below count.
template <class Body>
std::unique_ptr<Kernel> kernel_for_each(KernelContext& context, std::size_t count, const Body& body) {
    return kernels::kernel_of([&stream = context.stream, count, body] { for_each(stream, count, body); });
}

/// A kernel that calls body(block) in this many blocks.
template <class Body>
std::unique_ptr<Kernel> kernel_of_blocks(KernelContext& context, std::size_t blocks, unsigned threads,
                                         const Body& body) {
    return kernels::kernel_of(
        [&stream = context.stream, blocks, threads, body] { launch(stream, blocks, threads, body); });
}

/// Position of an element in a matrix.
struct MatrixPosition {
    std::size_t row;
    std::size_t column;
};

/// Position of element i in rows of this many columns. Uses 32-bit division if possible: 64-bit division is
/// slow on GPUs.
ON_DEVICE inline MatrixPosition position_of(std::size_t i, std::size_t columns) {
    if (((i | columns) >> 32U) == 0) {
        const auto n = static_cast<std::uint32_t>(i);
        const auto width = static_cast<std::uint32_t>(columns);
        return {n / width, n % width};
    }
    return {i / columns, i % columns};
}

}  // namespace dtrain::gpu
