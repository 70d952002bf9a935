// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dtrain::ps {

/// The most rows that a table may have on all servers together.
struct TableLimit {
    std::string table;
    std::uint64_t dict_size = 0;
};

/// How many rows each table has on each server, as far as a trainer knows.
class TableRoom {
  public:
    /// @param limits of tables, by number; those without one are not looked at
    TableRoom(std::vector<std::optional<TableLimit>> limits, std::size_t servers);

    /// Whether any table has a limit.
    bool is_limited() const { return is_limited_; }

    /// What a server says now.
    void note(std::size_t server, std::uint32_t table, std::uint64_t rows);

    /// Whether some table has more rows than it may have.
    bool is_passed() const { return passed_ > 0; }

    /// @throws DictSizeError of the first such table
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
    std::size_t passed_ = 0;  ///< tables
};

}  // namespace dtrain::ps
