// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ps/table/sparse_table.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// What is pushed to one table in a step. Rows stay in their messages, unless they come with shows and
/// clicks.
class RowBatch {
  public:
    explicit RowBatch(const TableOptions& options)
        : width_(options.width), has_statistics_(options.statistics.has_value()) {}

    /// Floats per id.
    std::size_t row_width() const { return pushed_width(width_, has_statistics_); }

    /// @throws MessageError if shows or clicks are not valid counts
    void check(std::span<const float> rows) const;

    /// @param source number of the trainer
    /// @param section must live until clear()
    void add(int source, const Section& section);
    GradientParts gradients() const { return parts_; }
    /// True if everything was pushed by one trainer that asserts that each id occurs once.
    bool has_each_id_once() const { return has_each_id_once_; }
    void clear();

  private:
    void add_apart(std::span<const float> rows);

    std::size_t width_;
    bool has_statistics_;
    std::vector<GradientBatch> parts_;
    std::optional<int> source_;
    bool has_each_id_once_ = true;
    // Merged from all sections; only for a table with statistics:
    std::vector<std::int64_t> ids_;
    std::vector<float> gradients_;
    std::vector<float> shows_;
    std::vector<float> clicks_;
};

}  // namespace dtrain::ps
