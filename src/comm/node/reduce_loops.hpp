// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "comm/api/call.hpp"

namespace dtrain::comm {

/// Reduces `count` elements of all sources, in their order, and writes the result to all destinations. A
/// destination may be a source, but must not partially overlap one. Averages are divided by `ranks`.
struct ReduceLoop {
    DataType element = DataType::float32;
    Reduction reduction = Reduction::sum;
    std::size_t ranks = 1;

    void operator()(std::span<const std::byte* const> sources, std::span<std::byte* const> destinations,
                    std::size_t count) const;
};

/// The type in which partial results are sent between nodes so that they are rounded only once.
DataType wide_type(DataType element, Reduction reduction);

/// Converts between a type and its wide type.
void convert(DataType from, const std::byte* source, DataType to, std::byte* destination, std::size_t count);

}  // namespace dtrain::comm
