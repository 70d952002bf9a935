// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "gpu/operators/give.hpp"

namespace dtrain::gpu {

/// A single thread with the interface of a block.
struct Alone {
    ON_GPU std::size_t thread() const { return 0; }
    ON_GPU std::size_t threads() const { return 1; }
    template <class Value>
    ON_GPU Value sum(Value value) const {
        return value;
    }
    template <class Value>
    ON_GPU Value max(Value value) const {
        return value;
    }
};

template <class Body>
struct RowOfThread {
    Body body;
    ON_GPU void operator()(std::size_t row) const { body(row, Alone{}); }
};

template <class Body>
struct RowOfBlock {
    Body body;
    ON_GPU void operator()(const Block& block) const { body(std::size_t{block.number()}, block); }
};

/// With at least this many columns a block processes a row, otherwise a thread does.
inline constexpr std::size_t columns_for_block = 32;

/// Calls body(row, team) in all threads of the team that processes the row: Alone or a Block.
template <class Body>
void for_each_row(const Stream& stream, std::size_t rows, std::size_t columns, const Body& body) {
    if (columns < columns_for_block)
        for_each(stream, rows, RowOfThread<Body>{body});
    else
        launch(stream, rows, threads_for(columns), RowOfBlock<Body>{body});
}

template <class Body>
std::unique_ptr<Kernel> kernel_for_each_row(KernelContext& context, std::size_t rows, std::size_t columns,
                                            const Body& body) {
    return kernels::kernel_of(
        [&stream = context.stream, rows, columns, body] { for_each_row(stream, rows, columns, body); });
}

}  // namespace dtrain::gpu
