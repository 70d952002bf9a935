// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <vector>

#include "ps/table/row_index.hpp"

namespace dtrain::ps {

/// Where rows of a load go that do not fit into memory. By one thread at a time, when the index is made.
struct LoadOverflow {
    std::size_t memory = std::numeric_limits<std::size_t>::max();  ///< for rows and index, in bytes
    std::function<void(std::span<const std::byte> rows)> add;
};

/// Fills an empty index with rows that were saved, by several threads: first all rows come into the arenas,
/// in any order, and then the sets are made, each at once in its final size. An index that is left before
/// finish() is of no use any more.
class BulkLoad {
  public:
    explicit BulkLoad(RowIndex& index, LoadOverflow overflow = {})
        : index_(index), overflow_(std::move(overflow)) {}

    /// Rows as they lie in memory, each id once. From any number of threads at once.
    /// @throws what the overflow throws
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

    bool is_room_for(std::uint64_t rows);
    void add_to_memory(std::span<const std::byte> rows);
    void make_sets();
    void copy(std::span<const std::byte> rows, const RowArena& arena, std::uint32_t first) const;
    void deal(std::span<const std::byte> rows);
    void insert(std::span<const Row> rows, Part& part);
    Part fill_sets(std::size_t part, std::size_t parts);

    RowIndex& index_;
    LoadOverflow overflow_;
    std::mutex mutex_;                    // of the arenas' growth
    std::shared_mutex memory_;            // shared: rows come into the arenas; else memory is full
    std::atomic<std::size_t> taken_ = 0;  // of the memory
    bool is_full_ = false;                // the sets are made
    std::optional<std::int64_t> twice_;
};

}  // namespace dtrain::ps
