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

/// Where a row lies: its arena's place in the index, and its number there.
struct RowPlace {
    std::uint32_t arena = 0;
    std::uint32_t number = 0;
};

/// Takes the rows of a snapshot: one or several whole rows behind each other, as they lie in memory.
class RowSink {
  public:
    virtual ~RowSink() = default;

    /// Called in the middle of pushes too: what fails here is kept, to be told later.
    virtual void take(std::span<const std::byte> rows) noexcept = 0;
};

enum class WhichRows { all, changed };

/// Which rows changed since they were last saved, and which ones the snapshot in progress, if there is one,
/// has still to take: a bit a row for the first, two more during a snapshot, and 8 bytes for each row that
/// was erased since the last save.
///
/// A snapshot is the rows as they were when it began. Rows are taken one after the other, and each that is
/// about to change before its turn comes is taken then.
///
/// Rows that are on disk have no bits. Each has a stamp instead: the number of the interval between two saves
/// in which it changed last; 0: it did not, or nobody asked.
class RowChanges {
  public:
    explicit RowChanges(std::size_t arenas) : changed_(arenas) {}

    /// From now on it is known which rows change.
    void track() { tracks_ = true; }
    bool tracks() const { return tracks_; }

    /// Whether it can tell what changed since a save.
    bool has_base() const { return has_base_; }

    /// What is there now is saved already: a table that was loaded.
    void forget();

    /// False when the functions below have nothing to do.
    bool is_needed() const { return tracks_ || snapshot_; }

    /// False when before_change() has nothing to do for this row.
    bool is_new_to(const RowPlace& place) const {
        return (tracks_ && !changed_[place.arena].contains(place.number)) ||
               (snapshot_ && snapshot_->pending[place.arena].contains(place.number));
    }

    void before_change(const RowPlace& place, std::span<const std::byte> row) {
        if (tracks_) changed_[place.arena].insert(place.number);
        if (snapshot_) take(place, row);
    }

    void before_erase(const RowPlace& place, std::span<const std::byte> row);

    void after_birth(const RowPlace& place) {
        if (tracks_) changed_[place.arena].insert(place.number);
    }

    /// What a row in memory has to be stamped with when it leaves.
    std::uint32_t stamp_of(const RowPlace& place) const;

    /// A row is on disk now, with its stamp; it is in memory still, and a snapshot may take it.
    void after_leaving(const RowPlace& place, std::span<const std::byte> row, std::uint32_t stamp);

    /// A row that was on disk is in memory.
    void after_return(const RowPlace& place, std::uint32_t stamp);

    /// What a row on disk that changes has to be stamped with.
    std::uint32_t stamp_of_change(std::uint32_t stamp) const { return tracks_ ? now_ : stamp; }
    void after_change_on_disk(std::uint32_t stamp);
    void after_erase_on_disk(std::int64_t id, std::uint32_t stamp);

    /// Rows on disk that changed since the last save; during a snapshot those that changed before it.
    std::uint64_t changed_on_disk() const { return changed_before_ + (snapshot_ ? 0 : changed_now_); }

    /// Whether a row with this stamp is one of those.
    bool is_changed(std::uint32_t stamp) const { return stamp >= base_; }

    /// Begins a snapshot of the rows in memory. @returns how many
    /// @throws Error when there is one already, or changed rows are wanted and there is no base
    std::uint64_t begin(WhichRows which, std::span<const RowArena> arenas, RowSink& sink);

    bool is_in_progress() const { return snapshot_.has_value(); }

    /// Ids of the rows that were erased before the snapshot began and after the save before.
    std::span<const std::int64_t> erased() const { return erased_of_snapshot_; }

    /// Takes so many rows of the snapshot. @returns false when there are no more
    bool go_on(std::uint64_t rows, std::span<const RowArena> arenas);

    /// @param is_saved whether what was taken lies safely on disk: if not, it counts as changed still
    void end(bool is_saved);

    std::size_t bytes() const;

  private:
    struct Snapshot {
        RowSink* sink;
        std::vector<RowSet> pending;  // of each arena: rows to be taken
        std::size_t arena = 0;        // that comes next
        std::uint64_t number = 0;     // numbers below are not pending
        bool tracked;                 // when it began
    };

    void take(const RowPlace& place, std::span<const std::byte> row);
    std::uint64_t& count_of(std::uint32_t stamp) { return stamp == now_ ? changed_now_ : changed_before_; }

    bool tracks_ = false;
    bool has_base_ = false;
    std::vector<RowSet> changed_;  // of each arena; of rows that are free by now, too
    std::vector<std::int64_t> erased_;
    std::vector<RowSet> changed_of_snapshot_;  // before it began: to be saved by it
    std::vector<std::int64_t> erased_of_snapshot_;
    std::optional<Snapshot> snapshot_;

    std::uint32_t now_ = 1;             // this interval
    std::uint32_t base_ = 1;            // the first one after the last save
    std::uint64_t changed_now_ = 0;     // rows on disk, by their stamp
    std::uint64_t changed_before_ = 0;  // from base_ to now_ - 1
};

}  // namespace dtrain::ps
