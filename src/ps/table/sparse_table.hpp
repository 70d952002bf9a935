// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ps/table/admission.hpp"
#include "ps/table/bulk_load.hpp"
#include "ps/table/gradient_batch.hpp"
#include "ps/table/initial_row.hpp"
#include "ps/table/row_changes.hpp"
#include "ps/table/row_index.hpp"
#include "ps/table/row_layout.hpp"
#include "ps/table/row_update.hpp"
#include "ps/table/spill.hpp"
#include "ps/table/table_options.hpp"
#include "ps/table/table_team.hpp"

namespace dtrain::ps {

/// When a push happens.
struct UpdateTime {
    /// Adam's t, for all rows alike: the job's step from 1 on, or the number of pushes where there are no
    /// common steps. It is what a Program's adam.step is, also for a row that is not in every step.
    std::int64_t step = 1;
    std::optional<double> learning_rate = {};  ///< of a schedule, instead of the optimizer's own
};

struct TableCounts {
    std::uint64_t inserted = 0;  ///< rows, ever
    std::uint64_t evicted = 0;   ///< rows, ever
    std::uint64_t rejected = 0;  ///< gradients that were not finite
    std::uint64_t dropped = 0;   ///< gradients for ids without a row, which admission kept out
};

/// The rows of one sparse parameter that this process has: a row for each id that was touched, made of the
/// weights and what the optimizer keeps. Not for several threads at once, but for const functions.
///
/// Every function that takes a batch checks its sizes first and throws UsageError with nothing changed. When
/// rows lie on disk, all functions throw Error naming the folder if the disk fails: a batch has changed
/// nothing then, shrink() and load() may have done a part.
class SparseTable {
  public:
    /// @param spill none: all rows are in memory
    /// @throws UsageError as check(), and as Spill
    explicit SparseTable(TableOptions options, const std::optional<SpillOptions>& spill = {});

    const TableOptions& options() const { return options_; }
    std::size_t width() const { return options_.width; }
    std::size_t state_width() const { return layout_.state_width(); }

    /// Rows.
    std::size_t size() const { return index_.size() + rows_on_disk(); }
    std::size_t rows_on_disk() const { return spill_ ? spill_->size() : 0; }

    /// All memory of the table.
    std::size_t bytes() const;

    const TableCounts& counts() const { return counts_; }

    /// From now on; rows that are there stay.
    void set_dict_size(std::optional<std::uint64_t> dict_size) { options_.dict_size = dict_size; }

    /// From now on large batches are shared by these threads. Nothing else changes by it, not a bit. One call
    /// at a time then, find() too.
    /// @param team outlives the table's use; null: the caller's thread does all
    void work_with(TableTeam* team) { team_ = team; }

    /// For training: makes a row for each id that has none and is admitted, and counts a touch for the
    /// others, which read as zeros.
    /// @param rows ids.size() * width() floats
    /// @throws DictSizeError with nothing changed
    void pull(std::span<const std::int64_t> ids, std::span<float> rows);

    /// For evaluation and export: changes nothing. Without admission, an id that has no row reads as it would
    /// begin, else as zeros.
    void find(std::span<const std::int64_t> ids, std::span<float> rows) const;

    /// Adds up gradients of the same id and updates its row once. Ids without a row get one, or with
    /// admission their gradients are dropped.
    /// @throws DictSizeError with nothing changed
    void push(const GradientBatch& batch, const UpdateTime& time = {}) { push({&batch, 1}, time); }

    /// The same of a batch that is cut into parts: one update of each id.
    /// @param has_each_id_once spares a look for repeated ids where one thread does all; one that is there
    /// all the same is updated twice
    void push(GradientParts parts, const UpdateTime& time, bool has_each_id_once = false);

    /// The day that rows are marked with when they are pulled or pushed.
    std::uint32_t day() const { return day_; }
    void set_day(std::uint32_t day) { day_ = day; }

    /// Shows and clicks decay, then rows go whose score is too low or that were not used for too long; their
    /// memory is for new rows. Counts of ids that wait for admission are halved.
    /// @returns how many rows went
    std::size_t shrink();

    /// Work for when nobody waits: moves 2 MiB of rows to where they are found sooner, in some milliseconds,
    /// or some rows to disk. A table that only grows past its first million rows needs it once for those.
    /// @returns false when there is nothing to do
    bool settle() { return index_.settle() || (spill_ && spill_->make_room_ahead(hot())); }

    /// Puts a row back as it was saved, whatever admission says; a row of this id is replaced.
    /// @throws UsageError when the row has another width, DictSizeError; nothing is changed then
    void insert(const TableRow& row);

    bool erase(std::int64_t id);

    /// Bytes of a row as it lies in memory: see RowLayout.
    std::size_t row_bytes() const { return index_.row_bytes(); }

    /// insert() of any number of rows as they lie in memory, behind each other.
    /// @throws DictSizeError when there is no room; none is inserted then
    void insert_rows(std::span<const std::byte> rows);

    /// For a table without rows, and without changes that are tracked: the fast way to put those back that
    /// were saved. `add` gets a BulkLoad, and adds to it.
    /// @param rows that will come, or about so many
    /// @throws Error when an id came twice, DictSizeError; what `add` throws. The table is of no use then.
    template <class Add>
    void load(std::uint64_t rows, const Add& add) {
        BulkLoad bulk(index_, rows, overflow());
        add(bulk);
        check_loaded(bulk.finish());
    }

    /// Counts that go on from those of a table that was saved.
    void set_counts(const TableCounts& counts) { counts_ = counts; }

    /// Which rows changed since they were saved; for snapshots of the table as it is at one moment.
    const RowChanges& changes() const { return changes_; }

    /// From now on it is known which rows change, for a bit a row and 8 bytes for each that is erased.
    void track_changes() { changes_.track(); }

    /// The table is as it was saved: nothing has changed.
    void forget_changes() { changes_.forget(); }

    /// Begins a snapshot of the rows as they are now, all or those that changed since the last save. The
    /// sink gets them while the table goes on: from go_on_with_snapshot(), and each that pull(), push(),
    /// shrink(), insert() or erase() are about to change from these, before. The table must not move
    /// meanwhile.
    /// @returns how many rows it has
    /// @throws Error when there is one already, or changed rows are wanted and it is not known which
    std::uint64_t begin_snapshot(WhichRows which, RowSink& sink);

    /// Gives so many rows to the sink. @returns false when the snapshot has no more
    bool go_on_with_snapshot(std::uint64_t rows) {
        return changes_.go_on(rows, index_.arenas()) ||
               (spill_ && spill_->go_on_with_snapshot(rows, changes_));
    }

    /// @param is_saved whether it lies safely on disk, all of it; if not, its rows still count as changed
    void end_snapshot(bool is_saved);

    /// What counts the touches of ids that wait for admission; empty unless they are admitted by count.
    std::span<std::uint8_t> touch_counters();
    std::span<const std::uint8_t> touch_counters() const;

    /// Calls function(TableRow) for each row, in an order that the order of births and evictions fixes; those
    /// on disk come last.
    template <class Function>
    void for_each(const Function& function) const {
        index_.for_each([&](const FoundRow& row) { function(layout_.read(row.bytes)); });
        if (spill_) spill_->for_each([&](const std::byte* row) { function(layout_.read(row)); });
    }

  private:
    FoundRow make_row(const HashedId& id);
    void begin_row(std::int64_t id, const FoundRow& row) const;
    bool read_row(const HashedId& id, const FoundRow& row, std::span<float> out) const;
    void before_change(const FoundRow& row) {
        if (changes_.is_needed()) changes_.before_change(row.place, {row.bytes, row_bytes()});
    }
    bool erase(const HashedId& id);
    bool ages(std::byte* row) const;
    Spill::Hot hot() { return {index_, changes_}; }
    LoadOverflow overflow();
    bool is_admitted_by_pull(const HashedId& id);
    bool is_admitted_by_push(const HashedId& id) const;

    void check_loaded(std::optional<std::int64_t> twice) const;

    void check_room(std::span<const std::int64_t> ids,
                    const std::function<bool(const HashedId&)>& is_admitted) const;
    void check_sizes(std::size_t ids, std::size_t floats) const;
    void check_part(const GradientBatch& part, bool has_statistics) const;
    void make_room_for(GradientParts parts);

    void apply(const GradientBatch& batch, const RowUpdate& update);
    template <class Step>
    void push_alone(std::span<const std::int64_t> ids, const Step& step);
    bool is_to_be_marked(const FoundRow& row) const;
    void mark_day(const FoundRow& row);

    bool is_shared(std::size_t ids) const { return team_ != nullptr && team_->is_for(ids); }
    void give_birth(TableTeam::Left& left, const HashedId& id);
    void pull_together(std::span<const std::int64_t> ids, std::span<float> rows);
    std::vector<std::size_t> find_together(std::span<const std::int64_t> ids, std::span<float> rows) const;
    template <class Step>
    void push_together(std::span<const std::int64_t> ids, const Step& step);

    TableOptions options_;
    RowLayout layout_;
    InitialRow initial_row_;
    std::uint64_t admission_key_;
    float initial_state_;
    RowIndex index_;
    RowChanges changes_;
    std::optional<TouchCounters> touches_;
    TableCounts counts_;
    std::uint32_t day_ = 0;
    std::unique_ptr<Spill> spill_;
    GradientMerge merge_;
    std::vector<float> gradient_;  // of one row, with its decay
    std::vector<std::int64_t> pushed_ids_;
    TableTeam* team_ = nullptr;
};

}  // namespace dtrain::ps
