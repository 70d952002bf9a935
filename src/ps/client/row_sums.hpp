// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/loops/loops.hpp"
#include "ps/table/distinct_ids.hpp"

namespace dtrain::ps {

/// Adds rows in order to `row_at(index)`; the first row of each index overwrites what is there.
/// @param indices see DistinctIds::indices()
template <class RowAt>
void add_rows_up(std::span<const std::uint32_t> indices, std::span<const float> values, std::size_t width,
                 const RowAt& row_at) {
    std::uint32_t seen = 0;  // indices below this have occurred
    for (std::size_t i = 0; i < indices.size(); ++i) {
        const float* const from = &values[i * width];
        float* const to = row_at(indices[i]);
        if (indices[i] != seen) {
            kernels::loops::add(from, to, width);
            continue;
        }
        if (from != to) std::copy_n(from, width, to);
        ++seen;
    }
}

/// Adds rows of the same id, in order. Afterwards each id occurs once, in order of first occurrence.
void merge_repeated(DistinctIds& distinct, std::size_t width, std::vector<std::int64_t>& ids,
                    std::vector<float>& values);

}  // namespace dtrain::ps
