// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ps/table/row_arena.hpp"
#include "ps/table/table_options.hpp"

namespace dtrain::ps {

/// A whole row. The statistics are zero in a table without them.
struct TableRow {
    std::int64_t id = 0;
    std::span<const float> weights;
    std::span<const float> state;  ///< of the optimizer, as many floats a row as SparseTable::state_width()
    float shows = 0;
    float clicks = 0;
    std::uint32_t last_day = 0;  ///< on which the row was used last
};

/// Shows and clicks of a row as it has them, and the last day.
struct StoredStatistics {
    float shows = 0;
    float clicks = 0;
    std::uint32_t last_day = 0;
};

/// What the bytes of a table's rows mean: id, weights, state, and with statistics shows and clicks (float32)
/// and the last day (uint32), all little endian.
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

    /// Zeros in a row without.
    StoredStatistics statistics_of(const std::byte* row) const {
        StoredStatistics statistics;
        if (has_statistics_) std::memcpy(&statistics, row + statistics_at_, sizeof(statistics));
        return statistics;
    }

    /// Of a row with statistics.
    void set_statistics(std::byte* row, const StoredStatistics& statistics) const {
        std::memcpy(row + statistics_at_, &statistics, sizeof(statistics));
    }

    TableRow read(const std::byte* row) const;

    /// Everything but the id. @param row of as many weights and floats of state as the layout has
    void write(std::byte* to, const TableRow& row) const;

  private:
    std::size_t width_;
    std::size_t state_width_;
    std::size_t statistics_at_;  // in a row
    bool has_statistics_;
};

}  // namespace dtrain::ps
