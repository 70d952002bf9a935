// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "ps/client/message_size.hpp"
#include "ps/wire/message.hpp"

namespace dtrain::ps {

/// The widths of the tables' rows in messages, and how many rows go into one.
class TableShapes {
  public:
    /// @param widths by table number
    /// @param with_statistics by table number; false for missing entries
    /// @param message_rows maximum number of rows per message; 0: chosen for speed
    TableShapes(std::vector<std::size_t> widths, std::vector<bool> with_statistics, std::size_t message_rows)
        : widths_(std::move(widths)),
          with_statistics_(std::move(with_statistics)),
          message_rows_(message_rows) {
        with_statistics_.resize(widths_.size());
    }

    std::size_t tables() const { return widths_.size(); }
    std::size_t width(std::uint32_t table) const { return widths_[table]; }
    bool has_statistics(std::uint32_t table) const { return with_statistics_[table]; }

    /// Floats per id in a push.
    std::size_t width_to_push(std::uint32_t table) const {
        return pushed_width(width(table), has_statistics(table));
    }

    /// Maximum number of rows of a table in a message.
    std::size_t message_rows(std::uint32_t table) const {
        if (message_rows_ > 0) return message_rows_;
        const auto bytes = sizeof(std::int64_t) + width_to_push(table) * sizeof(float);
        return std::max(full_message / bytes, min_message_rows);
    }

  private:
    std::vector<std::size_t> widths_;
    std::vector<bool> with_statistics_;
    std::size_t message_rows_;
};

}  // namespace dtrain::ps
