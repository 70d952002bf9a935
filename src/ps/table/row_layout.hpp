// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ps/table/row_arena.hpp"
#include "ps/table/table_options.hpp"

namespace dtrain::ps {

/// A whole row. Statistics are zero in a table without statistics.
struct TableRow {
    std::int64_t id = 0;
    std::span<const float> weights;
    std::span<const float> state;  ///< optimizer state: SparseTable::state_width() floats
    float shows = 0;
    float clicks = 0;
    std::uint32_t last_day = 0;  ///< day on which the row was last used
};

/// Shows, clicks and last day as stored in a row.
struct StoredStatistics {
    float shows = 0;
    float clicks = 0;
    std::uint32_t last_day = 0;
};

/// Layout of the bytes of a table's rows: id, weights, optimizer state, and with statistics shows and clicks
/// (float32) and the last day (uint32), all little endian.
class RowLayout {
  public:
    explicit RowLayout(const TableOptions& options);

    std::size_t width() const { return width_; }
    std::size_t state_width() const { return state_width_; }
    bool has_statistics() const { return has_statistics_; }
    std::size_t row_bytes() const {
        return statistics_at_ + (has_statistics_ ? sizeof(StoredStatistics) : 0);
    }

    static float* weights_of(std::byte* row) { return reinterpret_cast<float*>(row + sizeof(std::int64_t)); }

    /// Zeros for a row without statistics.
    StoredStatistics statistics_of(const std::byte* row) const {
        StoredStatistics statistics;
        if (has_statistics_) std::memcpy(&statistics, row + statistics_at_, sizeof(statistics));
        return statistics;
    }

    /// Requires a row with statistics.
    void set_statistics(std::byte* row, const StoredStatistics& statistics) const {
        std::memcpy(row + statistics_at_, &statistics, sizeof(statistics));
    }

    TableRow read(const std::byte* row) const;

    /// Writes everything except the id. @param row its weights and state must have the layout's sizes
    void write(std::byte* to, const TableRow& row) const;

  private:
    std::size_t width_;
    std::size_t state_width_;
    std::size_t statistics_at_;  // offset in a row
    bool has_statistics_;
};

}  // namespace dtrain::ps
