// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/row_changes.hpp"

#include <algorithm>
#include <utility>

#include <dtrain/error.hpp>

namespace dtrain::ps {
namespace {

std::size_t bytes_of(std::span<const RowSet> sets) {
    std::size_t bytes = 0;
    for (const auto& set : sets) bytes += sizeof(set) + set.bytes();
    return bytes;
}

}  // namespace

void RowChanges::forget() {
    changed_ = std::vector<RowSet>(changed_.size());
    erased_.clear();
    has_base_ = tracks_;
    base_ = ++now_;
    changed_now_ = changed_before_ = 0;
}

void RowChanges::take(const RowLocation& location, std::span<const std::byte> row) {
    auto& pending = snapshot_->pending[location.arena];
    if (!pending.contains(location.number)) return;
    snapshot_->sink->take(row);
    pending.erase(location.number);
}

void RowChanges::before_erase(const RowLocation& location, std::span<const std::byte> row) {
    if (tracks_) erased_.push_back(RowArena::id_of(row.data()));
    if (snapshot_) take(location, row);
}

std::uint32_t RowChanges::stamp_of(const RowLocation& location) const {
    if (changed_[location.arena].contains(location.number)) return now_;
    const bool is_of_snapshot =
        !changed_of_snapshot_.empty() && changed_of_snapshot_[location.arena].contains(location.number);
    return is_of_snapshot ? now_ - 1 : 0;
}

void RowChanges::after_leaving(const RowLocation& location, std::span<const std::byte> row,
                               std::uint32_t stamp) {
    if (snapshot_) take(location, row);
    if (is_changed(stamp)) ++count_of(stamp);
    changed_[location.arena].erase(location.number);
    if (!changed_of_snapshot_.empty()) changed_of_snapshot_[location.arena].erase(location.number);
}

void RowChanges::after_return(const RowLocation& location, std::uint32_t stamp) {
    // The number may have belonged to a row that was erased.
    changed_[location.arena].erase(location.number);
    if (!changed_of_snapshot_.empty()) changed_of_snapshot_[location.arena].erase(location.number);
    if (!is_changed(stamp)) return;
    --count_of(stamp);
    const bool is_of_snapshot = snapshot_ && stamp != now_;
    (is_of_snapshot ? changed_of_snapshot_ : changed_)[location.arena].insert(location.number);
}

void RowChanges::after_change_on_disk(std::uint32_t stamp) {
    if (!tracks_) return;
    if (is_changed(stamp)) --count_of(stamp);
    ++changed_now_;
}

void RowChanges::after_erase_on_disk(std::int64_t id, std::uint32_t stamp) {
    if (tracks_) erased_.push_back(id);
    if (is_changed(stamp)) --count_of(stamp);
}

std::uint64_t RowChanges::begin(WhichRows which, std::span<const RowArena> arenas, RowSink& sink) {
    if (snapshot_) throw Error("a snapshot of this sparse table is in progress already");
    if (which == WhichRows::changed && !has_base_)
        throw Error("what changed in this sparse table is not known: save all of it first");
    Snapshot snapshot{.sink = &sink, .pending = {}, .tracked = tracks_};
    std::uint64_t rows = 0;
    for (std::size_t i = 0; i < arenas.size(); ++i) {
        auto in_use = arenas[i].in_use();
        if (which == WhichRows::changed) in_use.keep_only(changed_[i]);
        rows += in_use.size();
        snapshot.pending.push_back(std::move(in_use));
    }
    changed_of_snapshot_ = std::exchange(changed_, std::vector<RowSet>(changed_.size()));
    erased_of_snapshot_ = std::exchange(erased_, {});
    changed_before_ += std::exchange(changed_now_, 0);
    ++now_;
    snapshot_ = std::move(snapshot);
    return rows;
}

bool RowChanges::go_on(std::uint64_t rows, std::span<const RowArena> arenas) {
    auto& [sink, pending, arena, number, tracked] = snapshot_.value();
    std::uint64_t taken = 0;
    while (arena < pending.size()) {
        if (taken >= rows) return true;
        auto run = pending[arena].next_run(number);
        if (run.begin == run.end) {
            pending[arena++] = RowSet();
            number = 0;
            continue;
        }
        run.end = std::min(run.end, run.begin + (rows - taken));
        // Rows of a run are contiguous in memory, except at the end of a piece of the arena.
        for (auto at = run.begin; at < run.end;) {
            const auto together = arenas[arena].contiguous_rows(static_cast<std::uint32_t>(at), run.end - at);
            sink->take(together);
            at += together.size() / arenas[arena].row_bytes();
        }
        for (auto at = run.begin; at < run.end; ++at) pending[arena].erase(static_cast<std::uint32_t>(at));
        number = run.end;
        taken += run.end - run.begin;
    }
    return false;
}

void RowChanges::end(bool is_saved) {
    if (!is_saved) {
        for (std::size_t i = 0; i < changed_.size(); ++i) changed_[i].insert_all(changed_of_snapshot_[i]);
        erased_.insert(erased_.begin(), erased_of_snapshot_.begin(), erased_of_snapshot_.end());
    } else {
        has_base_ = snapshot_.value().tracked;
        base_ = now_;
        changed_before_ = 0;
    }
    changed_of_snapshot_.clear();
    erased_of_snapshot_.clear();
    erased_of_snapshot_.shrink_to_fit();
    snapshot_.reset();
}

std::size_t RowChanges::bytes() const {
    return bytes_of(changed_) + bytes_of(changed_of_snapshot_) +
           (snapshot_ ? bytes_of(snapshot_->pending) : 0) +
           (erased_.capacity() + erased_of_snapshot_.capacity()) * sizeof(std::int64_t);
}

}  // namespace dtrain::ps
