// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ps/table/sparse_table.hpp"
#include "ps/wire/letter.hpp"

namespace dtrain::ps {

/// What is pushed to one table in a step. Rows of one section alone stay in its letter.
class RowBatch {
  public:
    explicit RowBatch(const TableOptions& options)
        : width_(options.width), has_statistics_(options.statistics.has_value()) {}

    /// Floats that come with each id.
    std::size_t row_width() const { return pushed_width(width_, has_statistics_); }

    /// @throws LetterError when shows or clicks are no counts
    void check(std::span<const float> rows) const;

    /// Both live until clear(). @param rows row_width() floats for each id
    void add(std::span<const std::int64_t> ids, std::span<const float> rows);
    GradientBatch gradients() const { return {ids_, gradients_, shows_, clicks_}; }
    void clear();

  private:
    void add_apart(std::span<const float> rows);

    std::size_t width_;
    bool has_statistics_;
    std::span<const std::int64_t> ids_;
    std::span<const float> gradients_;
    std::vector<std::int64_t> joined_ids_;
    std::vector<float> joined_gradients_;
    std::vector<float> shows_;
    std::vector<float> clicks_;
};

}  // namespace dtrain::ps
