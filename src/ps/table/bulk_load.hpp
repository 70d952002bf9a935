// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "ps/table/row_index.hpp"

namespace dtrain::ps {

/// Fills an empty index with rows that were saved, by several threads: first all rows come into the arenas,
/// in any order, and then the sets are made, each at once in its final size. An index that is left before
/// finish() is of no use any more.
class BulkLoad {
  public:
    explicit BulkLoad(RowIndex& index) : index_(index) {}

    /// Rows as they lie in memory, each id once. From any number of threads at once.
    void add(std::span<const std::byte> rows);

    /// Makes the sets, with two threads.
    /// @returns an id that came twice, if there is one
    std::optional<std::int64_t> finish();

  private:
    struct Part {
        std::size_t added = 0;
        std::optional<std::int64_t> twice;
    };

    struct Row {
        std::int64_t id;
        std::uint32_t number;
        std::uint32_t set;
    };

    void copy(std::span<const std::byte> rows, const RowArena& arena, std::uint32_t first) const;
    void deal(std::span<const std::byte> rows);
    void insert(std::span<const Row> rows, Part& part);
    Part fill_sets(std::size_t part, std::size_t parts);

    RowIndex& index_;
    std::mutex mutex_;  // of the arenas' growth
};

}  // namespace dtrain::ps
