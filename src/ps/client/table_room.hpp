// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtrain::ps {

/// The maximum number of rows of a table on all servers together.
struct TableLimit {
    std::string table;
    std::uint64_t dict_size = 0;
};

/// The number of rows of each table on each server, as last reported to this trainer.
class TableRoom {
  public:
    /// @param limits by table number; tables without a limit are ignored
    TableRoom(std::vector<std::optional<TableLimit>> limits, std::size_t servers);

    /// Whether any table has a limit.
    bool is_limited() const { return is_limited_; }

    /// Records the row count that a server reports.
    void note(std::size_t server, std::uint32_t table, std::uint64_t rows);

    /// Whether some table exceeds its limit.
    bool is_passed() const { return passed_ > 0; }

    /// @throws DictSizeError for the first such table
    void check() const;

  private:
    struct Table {
        std::optional<TableLimit> limit;
        std::vector<std::uint64_t> rows;  ///< by server
        std::uint64_t sum = 0;

        bool is_passed() const { return limit && sum > limit->dict_size; }
    };
    std::vector<Table> tables_;
    bool is_limited_ = false;
    std::size_t passed_ = 0;  ///< number of tables above their limit
};

}  // namespace dtrain::ps
