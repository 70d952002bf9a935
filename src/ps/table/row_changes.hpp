// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ps/table/row_arena.hpp"
#include "ps/table/row_set.hpp"

namespace dtrain::ps {

/// Identifies a row: index of its arena, and its number in the arena.
struct RowLocation {
    std::uint32_t arena = 0;
    std::uint32_t number = 0;
};

/// Receives the rows of a snapshot: one or several contiguous rows in their memory layout.
class RowSink {
  public:
    virtual ~RowSink() = default;

    /// Also called in the middle of pushes: errors must be kept and reported later.
    virtual void take(std::span<const std::byte> rows) noexcept = 0;
};

enum class WhichRows { all, changed };

/// Tracks which rows changed since the last save, and which rows a snapshot in progress has still to take.
/// Needs one bit per row for the former, two more during a snapshot, and 8 bytes for each row erased since
/// the last save.
///
/// A snapshot consists of the rows as they were when it began. Rows are taken one after the other; a row that
/// is about to change before its turn is taken first.
///
/// Rows on disk have no bits. Each has a stamp instead: the number of the interval between two saves in which
/// it last changed; 0: it has not changed, or changes were not tracked.
class RowChanges {
  public:
    explicit RowChanges(std::size_t arenas) : changed_(arenas) {}

    /// Starts tracking changes.
    void track() { tracks_ = true; }
    bool tracks() const { return tracks_; }

    /// Whether changes since a save are known.
    bool has_base() const { return has_base_; }

    /// Declares that the current state is already saved: for a table that was just loaded.
    void forget();

    /// False if the functions below have nothing to do.
    bool is_needed() const { return tracks_ || snapshot_; }

    /// False if before_change() has nothing to do for this row.
    bool is_new_to(const RowLocation& location) const {
        return (tracks_ && !changed_[location.arena].contains(location.number)) ||
               (snapshot_ && snapshot_->pending[location.arena].contains(location.number));
    }

    void before_change(const RowLocation& location, std::span<const std::byte> row) {
        if (tracks_) changed_[location.arena].insert(location.number);
        if (snapshot_) take(location, row);
    }

    void before_erase(const RowLocation& location, std::span<const std::byte> row);

    void after_insert(const RowLocation& location) {
        if (tracks_) changed_[location.arena].insert(location.number);
    }

    /// The stamp for a row that moves from memory to disk.
    std::uint32_t stamp_of(const RowLocation& location) const;

    /// Call after a row was written to disk with this stamp; it is still in memory, and a snapshot may take
    /// it.
    void after_leaving(const RowLocation& location, std::span<const std::byte> row, std::uint32_t stamp);

    /// Call after a row was moved from disk to memory.
    void after_return(const RowLocation& location, std::uint32_t stamp);

    /// The new stamp for a row on disk that changes.
    std::uint32_t stamp_of_change(std::uint32_t stamp) const { return tracks_ ? now_ : stamp; }
    void after_change_on_disk(std::uint32_t stamp);
    void after_erase_on_disk(std::int64_t id, std::uint32_t stamp);

    /// Number of rows on disk that changed since the last save; during a snapshot, only those that changed
    /// before it.
    std::uint64_t changed_on_disk() const { return changed_before_ + (snapshot_ ? 0 : changed_now_); }

    /// Whether a row with this stamp has changed since the last save.
    bool is_changed(std::uint32_t stamp) const { return stamp >= base_; }

    /// Begins a snapshot of the rows in memory. @returns their number
    /// @throws Error if a snapshot is in progress, or changed rows are wanted without a base
    std::uint64_t begin(WhichRows which, std::span<const RowArena> arenas, RowSink& sink);

    bool is_in_progress() const { return snapshot_.has_value(); }

    /// Ids of the rows erased between the previous save and the start of the snapshot.
    std::span<const std::int64_t> erased() const { return erased_of_snapshot_; }

    /// Takes up to `rows` rows of the snapshot. @returns false if none are left
    bool go_on(std::uint64_t rows, std::span<const RowArena> arenas);

    /// @param is_saved whether the snapshot is safely on disk; if not, its rows still count as changed
    void end(bool is_saved);

    std::size_t bytes() const;

  private:
    struct Snapshot {
        RowSink* sink;
        std::vector<RowSet> pending;  // per arena: rows still to take
        std::size_t arena = 0;        // arena of the next row
        std::uint64_t number = 0;     // rows below it are not pending
        bool tracked;                 // whether changes were tracked when it began
    };

    void take(const RowLocation& location, std::span<const std::byte> row);
    std::uint64_t& count_of(std::uint32_t stamp) { return stamp == now_ ? changed_now_ : changed_before_; }

    bool tracks_ = false;
    bool has_base_ = false;
    std::vector<RowSet> changed_;  // per arena; may include freed rows
    std::vector<std::int64_t> erased_;
    std::vector<RowSet> changed_of_snapshot_;  // changed before the snapshot began: it saves them
    std::vector<std::int64_t> erased_of_snapshot_;
    std::optional<Snapshot> snapshot_;

    std::uint32_t now_ = 1;             // number of the current interval
    std::uint32_t base_ = 1;            // the first interval after the last save
    std::uint64_t changed_now_ = 0;     // rows on disk with stamp now_
    std::uint64_t changed_before_ = 0;  // with stamps from base_ to now_ - 1
};

}  // namespace dtrain::ps
