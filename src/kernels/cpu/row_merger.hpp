// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <tuple>
#include <vector>

#include "kernels/loops/integers.hpp"
#include "kernels/loops/loops.hpp"

namespace dtrain::kernels {

/// Marks the end of a list of rows.
inline constexpr std::int64_t no_row = -1;

/// Row numbers of a table, and what is to be added to each row: values.size() / rows.size() numbers per row.
template <class Real>
struct RowList {
    Integers rows;
    std::span<const Real> values;
};

/// Sums the values that several lists have for the same row. The result's rows are sorted and unique; no_row
/// and zeros fill the end. Sums are made in the order of the lists, so the result is reproducible bit for
/// bit.
template <class Real>
class RowMerger {
  public:
    /// @param rows destination of the result's rows; `values` has as many rows
    RowMerger(std::span<std::int64_t> rows, std::span<Real> values)
        : rows_(rows), values_(values), width_(values.size() / rows.size()) {
        entries_.reserve(rows.size());
    }

    /// Rows with the numbers `skipped` and no_row are left out. The result must have room for the others.
    /// Returns the number of different rows.
    std::size_t run(std::span<const RowList<Real>> lists, std::int64_t skipped) {
        entries_.clear();
        for (std::size_t list = 0; list < lists.size(); ++list)
            for (std::size_t i = 0; i < lists[list].rows.size(); ++i)
                if (const auto row = lists[list].rows[i]; row != skipped && row != no_row)
                    entries_.push_back(
                        {row, static_cast<std::uint32_t>(list), static_cast<std::uint32_t>(i)});
        std::ranges::sort(entries_, {}, [](const Entry& p) { return std::tuple(p.row, p.list, p.index); });

        std::size_t made = 0;
        for (const auto& [row, list, index] : entries_) {
            const Real* from = &lists[list].values[index * width_];
            if (made > 0 && rows_[made - 1] == row) {
                loops::add(from, &values_[(made - 1) * width_], width_);
            } else {
                rows_[made] = row;
                std::copy_n(from, width_, &values_[made * width_]);
                ++made;
            }
        }
        std::fill(rows_.begin() + static_cast<std::ptrdiff_t>(made), rows_.end(), no_row);
        std::fill(values_.begin() + static_cast<std::ptrdiff_t>(made * width_), values_.end(), Real(0));
        return made;
    }

  private:
    struct Entry {
        std::int64_t row;
        std::uint32_t list;
        std::uint32_t index;
    };

    std::span<std::int64_t> rows_;
    std::span<Real> values_;
    std::size_t width_;
    std::vector<Entry> entries_;
};

}  // namespace dtrain::kernels
