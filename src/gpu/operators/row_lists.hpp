// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpu/operators/integers.hpp"
#include "gpu/operators/rows.hpp"
#include "gpu/operators/table.hpp"

/// Sums the values that lists of rows have for the same row, in a deterministic order: list entries are
/// sorted by row.
namespace dtrain::gpu {

/// Row numbers of a table, and what is to be added to each row.
template <class Real>
struct RowList {
    Integers rows;
    const Real* values;
    std::size_t count;
};

/// An entry of the lists, numbered across all of them.
struct RowPosition {
    std::int64_t row;
    std::size_t position;

    ON_DEVICE bool is_after(const RowPosition& other) const {
        return row > other.row || (row == other.row && position > other.position);
    }
};

/// The row number of excluded entries: sorted after all others.
inline constexpr std::int64_t left_out = INT64_MAX;

template <class Real>
struct FillPositions {
    const RowList<Real>* lists;
    std::size_t count;
    std::int64_t skipped;
    RowPosition* positions;

    ON_DEVICE void operator()(std::size_t i) const {
        positions[i] = {left_out, i};
        std::size_t at = i;
        for (std::size_t list = 0; list < count; ++list) {
            if (at < lists[list].count) {
                const auto row = lists[list].rows[at];
                if (row != skipped && row != -1) positions[i].row = row;
                return;
            }
            at -= lists[list].count;
        }
    }
};

/// Batcher's bitonic sort: orders a pair at distance `distance` within its run of `length`.
struct SortPair {
    RowPosition* positions;
    std::size_t length;
    std::size_t distance;

    ON_DEVICE void operator()(std::size_t pair) const {
        const std::size_t within = pair & (distance - 1);
        RowPosition& a = positions[(pair - within) * 2 + within];
        RowPosition& b = positions[(pair - within) * 2 + within + distance];
        const bool is_ascending = (((pair - within) * 2) & length) == 0;
        if (a.is_after(b) != is_ascending) return;
        const RowPosition kept = a;
        a = b;
        b = kept;
    }
};

/// All pairs of a block's tile, for the lengths from `first` to `last`.
struct SortTile {
    static constexpr std::size_t longest = 2048;

    RowPosition* positions;
    std::size_t tile;
    std::size_t first;
    std::size_t last;

    ON_GPU void operator()(const Block& block) const {
        const std::size_t half = tile / 2;
        for (std::size_t length = first; length <= last; length *= 2)
            for (std::size_t distance = length / 2 < half ? length / 2 : half; distance > 0; distance /= 2) {
                const SortPair sort{positions, length, distance};
                for (std::size_t i = block.thread(); i < half; i += block.threads())
                    sort(block.number() * half + i);
                block.wait();
            }
    }
};

/// Whether a sorted entry is the first one of its row.
ON_DEVICE inline bool is_first(const RowPosition* positions, std::size_t i) {
    return positions[i].row != left_out && (i == 0 || positions[i - 1].row != positions[i].row);
}

struct CountRows {
    const RowPosition* positions;
    std::size_t segment;
    std::size_t* counts;

    ON_DEVICE void operator()(std::size_t number) const {
        std::size_t count = 0;
        for (std::size_t i = number * segment; i < (number + 1) * segment; ++i)
            if (is_first(positions, i)) ++count;
        counts[number] = count;
    }
};

/// Writes where each distinct row begins, and, after the counts of all segments, the number of distinct rows.
struct FindRows {
    const RowPosition* positions;
    std::size_t segment;
    std::size_t segments;
    std::size_t* counts;
    std::size_t* begins;

    ON_DEVICE void operator()(std::size_t number) const {
        std::size_t next = 0;
        for (std::size_t i = 0; i < number; ++i) next += counts[i];
        for (std::size_t i = number * segment; i < (number + 1) * segment; ++i)
            if (is_first(positions, i)) begins[next++] = i;
        if (number + 1 == segments) counts[segments] = next;
    }
};

/// Computes the sum of one row at a time.
template <class Real>
struct RowSums {
    const RowList<Real>* lists;
    const RowPosition* positions;
    std::size_t size;                   ///< number of entries
    const std::size_t* different_rows;  ///< number of distinct rows
    const std::size_t* begins;
    std::size_t width;

    ON_DEVICE const Real* values_at(std::size_t position) const {
        const RowList<Real>* list = lists;
        while (position >= list->count) position -= (list++)->count;
        return list->values + position * width;
    }

    ON_DEVICE Real sum(std::size_t begin, std::size_t column) const {
        Real sum = values_at(positions[begin].position)[column];
        for (std::size_t i = begin + 1; i < size && positions[i].row == positions[begin].row; ++i)
            sum += values_at(positions[i].position)[column];
        return sum;
    }
};

/// Buffers of a kernel that sums rows.
template <class Real>
class RowLists {
  public:
    /// @param skipped a row that is excluded, like -1
    RowLists(KernelContext& context, const std::vector<RowList<Real>>& lists, std::int64_t skipped,
             std::size_t width)
        : count_(count_of(lists)),
          size_(std::bit_ceil(std::max<std::size_t>(count_, 2))),
          segment_(std::size_t{1} << (std::bit_width(size_) / 2)),
          lists_(context.stream, lists),
          positions_(allocate(size_ * sizeof(RowPosition))),
          counts_(allocate((size_ / segment_ + 1) * sizeof(std::size_t))),
          begins_(allocate(size_ * sizeof(std::size_t))),
          skipped_(skipped),
          width_(width) {}

    /// Sorts the current contents of the lists.
    void run(const Stream& stream) const {
        auto* positions = reinterpret_cast<RowPosition*>(positions_.get());
        for_each(stream, size_, FillPositions<Real>{lists_.data(), lists_.size(), skipped_, positions});
        const auto tile = std::min(size_, SortTile::longest);
        const auto threads = threads_for(tile / 2, 1024);
        launch(stream, size_ / tile, threads, SortTile{positions, tile, 2, tile});
        for (std::size_t length = 2 * tile; length <= size_; length *= 2) {
            for (std::size_t distance = length / 2; distance >= tile; distance /= 2)
                for_each(stream, size_ / 2, SortPair{positions, length, distance});
            launch(stream, size_ / tile, threads, SortTile{positions, tile, length, length});
        }
        const auto segments = size_ / segment_;
        for_each(stream, segments, CountRows{positions, segment_, counts()});
        for_each(stream, segments, FindRows{positions, segment_, segments, counts(), begins()});
    }

    RowSums<Real> sums() const {
        return {lists_.data(), reinterpret_cast<const RowPosition*>(positions_.get()),
                size_,         counts() + size_ / segment_,
                begins(),      width_};
    }

    /// Number of entries in all lists.
    std::size_t count() const { return count_; }

  private:
    static std::size_t count_of(const std::vector<RowList<Real>>& lists) {
        std::size_t count = 0;
        for (const auto& list : lists) count += list.count;
        return count;
    }

    std::size_t* counts() const { return reinterpret_cast<std::size_t*>(counts_.get()); }
    std::size_t* begins() const { return reinterpret_cast<std::size_t*>(begins_.get()); }

    std::size_t count_;
    std::size_t size_;     // a power of two
    std::size_t segment_;  // entries that one thread counts
    Table<RowList<Real>> lists_;
    DeviceMemory positions_;
    DeviceMemory counts_;
    DeviceMemory begins_;
    std::int64_t skipped_;
    std::size_t width_;
};

}  // namespace dtrain::gpu
