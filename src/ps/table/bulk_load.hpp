// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <vector>

#include "base/huge_pages.hpp"
#include "ps/table/row_index.hpp"

namespace dtrain::ps {

/// Where rows go that do not fit into memory. Called by one thread at a time, when all rows in memory can be
/// found.
struct LoadOverflow {
    std::size_t memory = std::numeric_limits<std::size_t>::max();  ///< for rows and index, in bytes
    std::function<void(std::span<const std::byte> rows)> add;
};

/// Fills an empty index with saved rows from several threads, each with rows of its own. Rows are copied into
/// the arenas in any order, and inserted into their set in batches. An index is unusable unless finish() was
/// called. Each thread holds 8 bytes for up to a third of the rows.
class BulkLoad {
  public:
    /// @param rows expected number, possibly approximate: sets and arenas are allocated for it at once
    BulkLoad(RowIndex& index, std::uint64_t rows, LoadOverflow overflow = {});

    /// Adds rows in their memory layout; each id must occur once. May be called from several threads at the
    /// same time.
    /// @throws what the overflow throws
    void add(std::span<const std::byte> rows);

    /// @returns an id that occurred twice, if any
    std::optional<std::int64_t> finish();

  private:
    struct Row {
        std::uint32_t position;  // RowIndex::position_of()
        std::uint32_t number;
    };

    struct Hashed {
        std::uint32_t position;
        std::uint32_t set;
    };

    /// Rows that one thread has copied into the arenas and not yet inserted into the sets.
    struct Waiting {
        HugePages memory;  // space for max_waiting_ rows per set
        std::array<std::uint32_t, RowIndex::sets> count{};
        std::vector<Hashed> hashed;  // the rows being added
        std::vector<RowIndex::Alike> alike;

        Row* rows() const { return reinterpret_cast<Row*>(memory.get()); }
    };

    void add_part(std::span<const std::byte> rows);
    bool is_room_for(std::uint64_t rows);
    bool add_to_memory(std::span<const std::byte> rows);
    bool place(std::span<const std::byte> rows, Waiting& waiting);
    void copy(std::span<const std::byte> rows, std::uint32_t first) const;
    void enlarge_arenas(std::uint64_t rows);
    void insert(std::size_t set, Waiting& waiting);
    void insert_all();
    void compare(const RowArena& arena, std::span<const RowIndex::Alike> alike);
    std::unique_ptr<Waiting> take_waiting();

    RowIndex& index_;
    LoadOverflow overflow_;
    std::uint64_t rows_;                  // expected in memory
    std::shared_mutex memory_;            // shared: adding rows in memory; exclusive: everything else
    std::atomic<std::size_t> taken_ = 0;  // bytes of overflow_.memory in use
    bool is_full_ = false;                // further rows go to the overflow
    std::mutex mutex_;                    // protects the members below, and the arenas' row numbers
    std::vector<std::unique_ptr<Waiting>> waiting_;  // not in use by a thread
    std::optional<std::int64_t> twice_;
    std::array<std::mutex, RowIndex::sets> sets_;
    std::size_t max_waiting_ = 1;  // per set and thread
    std::atomic<std::size_t> added_ = 0;
};

}  // namespace dtrain::ps
