// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "gpu/operators/give.hpp"

namespace dtrain::gpu {

/// Sums of columns: each block processes some of the columns and some of the rows, and sums groups of those
/// rows in parallel.
template <class Real, class Terms>
struct TileSums {
    static constexpr std::size_t width = 32;  // columns per block

    Terms terms;  ///< terms(row, column)
    std::size_t rows;
    std::size_t columns;
    std::size_t tiles;  ///< number of column tiles
    std::size_t rows_of_block;
    std::size_t groups;
    Real* scratch;  ///< groups x width for each block
    Real* out;      ///< one row per block of rows

    ON_GPU void operator()(const Block& block) const {
        const auto [chunk, tile] = position_of(block.number(), tiles);
        const std::size_t first_row = chunk * rows_of_block;
        const std::size_t end_row = first_row + rows_of_block < rows ? first_row + rows_of_block : rows;
        const std::size_t first = tile * width;
        const std::size_t count = first + width < columns ? width : columns - first;
        Real* sums = scratch + block.number() * groups * width;
        for (std::size_t i = block.thread(); i < groups * width; i += block.threads()) {
            const std::size_t column = i % width;
            Real sum = 0;
            if (column < count)
                for (std::size_t row = first_row + i / width; row < end_row; row += groups)
                    sum += terms(row, first + column);
            sums[i] = sum;
        }
        block.wait();
        for (std::size_t column = block.thread(); column < count; column += block.threads()) {
            Real sum = 0;
            for (std::size_t group = 0; group < groups; ++group) sum += sums[group * width + column];
            out[chunk * columns + first + column] = sum;
        }
    }
};

template <class Real>
struct MatrixTerms {
    const Real* x;
    std::size_t columns;
    ON_DEVICE Real operator()(std::size_t row, std::size_t column) const { return x[row * columns + column]; }
};

/// out[column] = sum over the rows of terms(row, column), in an order that depends only on the extents.
template <class Real, class Terms>
class ColumnSums {
  public:
    ColumnSums(std::size_t rows, std::size_t columns, const Terms& terms, Real* out)
        : chunks_((rows + max_rows - 1) / max_rows),
          tiles_((columns + width - 1) / width),
          groups_(std::clamp<std::size_t>(rows / chunks_ / 4, 1, 32)),
          scratch_(allocate(chunks_ * tiles_ * groups_ * width * sizeof(Real))),
          of_chunks_(allocate(chunks_ * columns * sizeof(Real))),
          first_{terms,
                 rows,
                 columns,
                 tiles_,
                 (rows + chunks_ - 1) / chunks_,
                 groups_,
                 at(scratch_),
                 chunks_ == 1 ? out : at(of_chunks_)},
          second_{{at(of_chunks_), columns}, chunks_, columns, tiles_, chunks_, 1, at(scratch_), out} {}

    void run(const Stream& stream) const {
        launch(stream, chunks_ * tiles_, static_cast<unsigned>(groups_ * width), first_);
        if (chunks_ > 1) launch(stream, tiles_, width, second_);
    }

    /// The body to use as part of a single-block kernel; null if several blocks are needed.
    const TileSums<Real, Terms>* of_one_block() const { return chunks_ * tiles_ == 1 ? &first_ : nullptr; }

  private:
    static constexpr std::size_t width = TileSums<Real, Terms>::width;
    static constexpr std::size_t max_rows = 4096;  // per block

    static Real* at(const DeviceMemory& memory) { return reinterpret_cast<Real*>(memory.get()); }

    std::size_t chunks_;
    std::size_t tiles_;
    std::size_t groups_;
    DeviceMemory scratch_;
    DeviceMemory of_chunks_;
    TileSums<Real, Terms> first_;
    TileSums<Real, MatrixTerms<Real>> second_;
};

}  // namespace dtrain::gpu
