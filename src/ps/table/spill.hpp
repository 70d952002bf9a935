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

/// Keeps what a table has in memory below a limit: rows that were not used lately move to disk, and come back
/// when a batch has their ids. A row is in memory or on disk, never in both.
///
/// What fails throws Error naming the folder; all rows are where they were then.
class Spill {
  public:
    /// What the table has in memory.
    struct Hot {
        RowIndex& index;
        RowChanges& changes;
    };

    /// @param table its name, for messages
    /// @param other_bytes of memory that count, besides those of rows and what finds them
    /// @throws UsageError when nothing can be written into the folder, when there is no RocksDB, or the limit
    /// is less than a table without rows takes
    Spill(const SpillOptions& options, const std::string& table, const Hot& hot, std::size_t other_bytes);

    /// Rows on disk.
    std::uint64_t size() const { return cold_->size(); }

    /// Memory for what is on disk.
    std::size_t bytes() const { return clock_.bytes() + cold_->bytes(); }

    /// Makes room for a batch. Then all rows that its ids have are in memory, until the next call.
    void bring_back(std::span<const std::int64_t> ids, const Hot& hot);

    /// Moves rows to disk when the next batches may need their room, while nobody waits. @returns false when
    /// there is nothing to do, or the disk fails: that is for a batch to tell
    bool make_room_ahead(const Hot& hot);

    /// Calls function(place, row) for those of these places of a batch whose rows are on disk. The rows stay
    /// there.
    void read(std::span<const std::int64_t> ids, std::vector<std::size_t> places,
              const std::function<void(std::size_t place, const std::byte* row)>& function) const;

    /// Calls function(row) for each row on disk.
    void for_each(const std::function<void(const std::byte* row)>& function) const;

    /// @returns whether the row was on disk
    bool erase(std::int64_t id, RowChanges& changes);

    enum class Fate { stays, changes, goes };

    /// Calls revise(row) for each row on disk, which may change it and says what becomes of it.
    void revise(const std::function<Fate(std::byte* row)>& revise, RowChanges& changes);

    /// Puts new rows on disk at once, when those of a load do not fit into memory.
    /// @param index of the rows in memory
    /// @throws Error when an id has a row already, or comes twice
    void add(std::span<const std::byte> rows, const RowIndex& index);

    /// Memory that rows may take when there are none.
    std::size_t limit() const { return limit_; }

    /// The part of a snapshot that is on disk: RowChanges::begin() comes first. @returns how many rows
    std::uint64_t begin_snapshot(WhichRows which, RowSink& sink, const RowChanges& changes);
    bool go_on_with_snapshot(std::uint64_t rows, const RowChanges& changes);
    void end_snapshot() { snapshot_ = {}; }

  private:
    struct Moved {
        std::int64_t id;
        RowPlace place;
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

    // What a batch needs for a moment; kept, because batches are alike.
    std::vector<std::int64_t> missing_;
    std::vector<Moved> moved_;
};

}  // namespace dtrain::ps
