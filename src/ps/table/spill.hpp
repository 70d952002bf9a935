// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ps/table/clock_hand.hpp"
#include "ps/table/cold_rows.hpp"
#include "ps/table/row_changes.hpp"
#include "ps/table/row_index.hpp"
#include "ps/table/spill_options.hpp"

namespace dtrain::ps {

/// Limits the memory of a table: rows not used lately are moved to disk, and return when a batch has their
/// ids. A row is either in memory or on disk, never both.
///
/// Failures throw Error naming the folder; all rows are then where they were.
class Spill {
  public:
    /// The table's data in memory.
    struct Hot {
        RowIndex& index;
        RowChanges& changes;
    };

    /// @param table its name, for messages
    /// @param other_bytes memory that counts towards the limit besides rows and index
    /// @throws UsageError if the folder is not writable, if there is no RocksDB, or the limit is less than an
    /// empty table needs
    Spill(const SpillOptions& options, const std::string& table, const Hot& hot, std::size_t other_bytes);

    /// Number of rows on disk.
    std::uint64_t size() const { return cold_->size(); }

    /// Memory in use for rows on disk.
    std::size_t bytes() const { return clock_.bytes() + cold_->bytes(); }

    /// Makes room for a batch and brings its rows into memory, where they stay until the next call.
    void bring_back(std::span<const std::int64_t> ids, const Hot& hot);

    /// Moves rows to disk in advance if the next batches may need room; for idle time. @returns false if
    /// there is nothing to do, or the disk fails, which a batch will then report
    bool make_room_ahead(const Hot& hot);

    /// Calls function(index, row) for those of these indices of a batch whose rows are on disk. The rows stay
    /// there.
    void read(std::span<const std::int64_t> ids, std::vector<std::size_t> indices,
              const std::function<void(std::size_t index, const std::byte* row)>& function) const;

    /// Calls function(row) for each row on disk.
    void for_each(const std::function<void(const std::byte* row)>& function) const;

    /// @returns whether the row was on disk
    bool erase(std::int64_t id, RowChanges& changes);

    enum class Fate { stays, changes, goes };

    /// Calls revise(row) for each row on disk; it may change the row and returns what happens to it.
    void revise(const std::function<Fate(std::byte* row)>& revise, RowChanges& changes);

    /// Writes new rows directly to disk, for a load that does not fit into memory.
    /// @param index of the rows in memory
    /// @throws Error if an id already has a row, or occurs twice
    void add(std::span<const std::byte> rows, const RowIndex& index);

    /// Memory limit for rows in memory and their index.
    std::size_t limit() const { return limit_; }

    /// Begins the on-disk part of a snapshot; call RowChanges::begin() first. @returns the number of rows
    std::uint64_t begin_snapshot(WhichRows which, RowSink& sink, const RowChanges& changes);
    bool go_on_with_snapshot(std::uint64_t rows, const RowChanges& changes);
    void end_snapshot() { snapshot_ = {}; }

  private:
    struct Moved {
        std::int64_t id;
        RowLocation location;
        std::uint32_t stamp;
    };

    struct Snapshot {
        std::unique_ptr<ColdRows::Cursor> cursor;
        RowSink* sink = nullptr;
        WhichRows which = WhichRows::all;
    };

    std::size_t hot_bytes(const Hot& hot) const;
    void make_room(std::uint64_t rows, const Hot& hot);
    void evict(std::uint64_t rows, const Hot& hot);

    std::string table_;
    std::size_t limit_;
    std::size_t other_bytes_;
    ClockHand clock_;
    std::unique_ptr<ColdRows> cold_;
    Snapshot snapshot_;

    // Scratch memory for a batch, kept for the next one.
    std::vector<std::int64_t> missing_;
    std::vector<Moved> moved_;
};

}  // namespace dtrain::ps
