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

/// Where rows of a load go that do not fit into memory. By one thread at a time, when all others are found.
struct LoadOverflow {
    std::size_t memory = std::numeric_limits<std::size_t>::max();  ///< for rows and index, in bytes
    std::function<void(std::span<const std::byte> rows)> add;
};

/// Fills an empty index with rows that were saved, by several threads, each with rows of its own: these come
/// into the arenas, in any order, and those of a set into that when there are many. An index that is left
/// before finish() is of no use any more. Each thread keeps 8 bytes for up to a third of the rows.
class BulkLoad {
  public:
    /// @param rows that will come, or about so many: sets and arenas are made for them at once
    BulkLoad(RowIndex& index, std::uint64_t rows, LoadOverflow overflow = {});

    /// Rows as they lie in memory, each id once. From any number of threads at once.
    /// @throws what the overflow throws
    void add(std::span<const std::byte> rows);

    /// @returns an id that came twice, if there is one
    std::optional<std::int64_t> finish();

  private:
    struct Row {
        std::uint32_t place;  // RowIndex::place_of()
        std::uint32_t number;
    };

    struct Hashed {
        std::uint32_t place;
        std::uint32_t set;
    };

    /// Rows that one thread has put into the arenas and not yet into the sets.
    struct Waiting {
        HugePages memory;  // room for max_waiting_ rows of each set
        std::array<std::uint32_t, RowIndex::sets> count{};
        std::vector<Hashed> hashed;  // the rows that come now
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
    std::shared_mutex memory_;            // shared: rows come into memory; else no other thread uses it
    std::atomic<std::size_t> taken_ = 0;  // of the memory
    bool is_full_ = false;                // rows go to the overflow
    std::mutex mutex_;                    // of what follows, and of the arenas' numbers
    std::vector<std::unique_ptr<Waiting>> waiting_;  // that no thread has
    std::optional<std::int64_t> twice_;
    std::array<std::mutex, RowIndex::sets> sets_;
    std::size_t max_waiting_ = 1;  // of a set, for one thread
    std::atomic<std::size_t> added_ = 0;
};

}  // namespace dtrain::ps
