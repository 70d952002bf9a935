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

/// The step and learning rate of a push.
struct UpdateTime {
    /// Adam's t, the same for all rows: the job's step from 1 on, or the number of pushes if there are no
    /// common steps. Equals a Program's adam.step, also for a row that is not in every step.
    std::int64_t step = 1;
    std::optional<double> learning_rate = {};  ///< from a schedule, instead of the optimizer's own
};

struct TableCounts {
    std::uint64_t inserted = 0;  ///< rows created so far
    std::uint64_t evicted = 0;   ///< rows evicted so far
    std::uint64_t rejected = 0;  ///< gradients that were not finite
    std::uint64_t dropped = 0;   ///< gradients for ids that admission has not given a row
};

/// The rows of one sparse parameter in this process: one row per id that was touched, with weights and
/// optimizer state. Not thread-safe, except for const functions.
///
/// Every function that takes a batch validates its sizes first and throws UsageError with nothing changed. If
/// rows are on disk, all functions throw Error naming the folder if the disk fails: a batch has then changed
/// nothing; shrink() and load() may have been partly done.
class SparseTable {
  public:
    /// @param spill nothing: all rows are in memory
    /// @throws UsageError as check(), and as Spill
    explicit SparseTable(TableOptions options, const std::optional<SpillOptions>& spill = {});

    const TableOptions& options() const { return options_; }
    std::size_t width() const { return options_.width; }
    std::size_t state_width() const { return layout_.state_width(); }

    /// Number of rows.
    std::size_t size() const { return index_.size() + rows_on_disk(); }
    std::size_t rows_on_disk() const { return spill_ ? spill_->size() : 0; }

    /// All memory of the table.
    std::size_t bytes() const;

    const TableCounts& counts() const { return counts_; }

    /// Applies from now on; existing rows stay.
    void set_dict_size(std::optional<std::uint64_t> dict_size) { options_.dict_size = dict_size; }

    /// Shares large batches among these threads from now on, without changing any bit of the results. Only
    /// one call at a time is then allowed, including find().
    /// @param team must outlive its use by the table; null: everything runs on the caller's thread
    void work_with(TableTeam* team) { team_ = team; }

    /// For training: creates a row for each id that has none and is admitted, and counts a touch for the
    /// others, which read as zeros.
    /// @param rows ids.size() * width() floats
    /// @throws DictSizeError with nothing changed
    void pull(std::span<const std::int64_t> ids, std::span<float> rows);

    /// For evaluation and export: changes nothing. An id without a row reads as its initial values, or as
    /// zeros in a table with admission.
    void find(std::span<const std::int64_t> ids, std::span<float> rows) const;

    /// Sums the gradients of the same id and updates its row once. Ids without a row get one, or, if not
    /// admitted, their gradients are dropped.
    /// @throws DictSizeError with nothing changed
    void push(const GradientBatch& batch, const UpdateTime& time = {}) { push({&batch, 1}, time); }

    /// The same for a batch in parts: one update per id.
    /// @param has_each_id_once skips the search for repeated ids if one thread does all the work; an id that
    /// is repeated anyway is updated twice
    void push(GradientParts parts, const UpdateTime& time, bool has_each_id_once = false);

    /// The day with which rows are marked when pulled or pushed.
    std::uint32_t day() const { return day_; }
    void set_day(std::uint32_t day) { day_ = day; }

    /// Applies decay to shows and clicks, then evicts rows whose score is too low or that were not used for
    /// too long; new rows reuse their memory. Counts of ids waiting for admission are halved.
    /// @returns the number of evicted rows
    std::size_t shrink();

    /// Background work: moves 2 MiB of rows to where access is faster, which takes some milliseconds, or some
    /// rows to disk. A table in memory needs it once, for its first million rows.
    /// @returns false if there is nothing to do
    bool settle() { return index_.settle() || (spill_ && spill_->make_room_ahead(hot())); }

    /// Inserts a saved row regardless of admission; replaces an existing row of this id.
    /// @throws UsageError if the row has another width, DictSizeError; then nothing is changed
    void insert(const TableRow& row);

    bool erase(std::int64_t id);

    /// Size of a row in memory: see RowLayout.
    std::size_t row_bytes() const { return index_.row_bytes(); }

    /// insert() for any number of contiguous rows in their memory layout.
    /// @throws DictSizeError if there is no room; then none is inserted
    void insert_rows(std::span<const std::byte> rows);

    /// The fast way to insert saved rows, for a table without rows and without tracked changes. `add` is
    /// called with a BulkLoad, and adds rows to it.
    /// @param rows expected number, possibly approximate
    /// @throws Error if an id occurred twice, DictSizeError, and what `add` throws. The table is then
    /// unusable.
    template <class Add>
    void load(std::uint64_t rows, const Add& add) {
        BulkLoad bulk(index_, rows, overflow());
        add(bulk);
        check_loaded(bulk.finish());
    }

    /// Sets the counts of a saved table, from which counting continues.
    void set_counts(const TableCounts& counts) { counts_ = counts; }

    /// Which rows changed since they were last saved; for snapshots of the table at one moment.
    const RowChanges& changes() const { return changes_; }

    /// Starts tracking which rows change; costs one bit per row, and 8 bytes for each erased row.
    void track_changes() { changes_.track(); }

    /// Declares that the table is as it was saved: nothing has changed.
    void forget_changes() { changes_.forget(); }

    /// Begins a snapshot of the current rows, all of them or those changed since the last save. The sink
    /// receives them while the table stays in use: from go_on_with_snapshot(), and from pull(), push(),
    /// shrink(), insert() or erase() just before they change a row. The table must not move meanwhile.
    /// @returns the number of rows
    /// @throws Error if a snapshot is in progress, or changed rows are wanted and changes are not known
    std::uint64_t begin_snapshot(WhichRows which, RowSink& sink);

    /// Passes up to `rows` rows to the sink. @returns false if the snapshot has no more
    bool go_on_with_snapshot(std::uint64_t rows) {
        return changes_.go_on(rows, index_.arenas()) ||
               (spill_ && spill_->go_on_with_snapshot(rows, changes_));
    }

    /// @param is_saved whether all of it is safely on disk; if not, its rows still count as changed
    void end_snapshot(bool is_saved);

    /// The touch counters of ids waiting for admission; empty unless admission is by count.
    std::span<std::uint8_t> touch_counters();
    std::span<const std::uint8_t> touch_counters() const;

    /// Calls function(TableRow) for each row; the order depends only on the order of insertions and
    /// evictions, with rows on disk last.
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
        if (changes_.is_needed()) changes_.before_change(row.location, {row.bytes, row_bytes()});
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
    void push_serial(std::span<const std::int64_t> ids, const Step& step);
    bool is_to_be_marked(const FoundRow& row) const;
    void mark_day(const FoundRow& row);

    bool is_shared(std::size_t ids) const { return team_ != nullptr && team_->is_for(ids); }
    void insert_row(TableTeam::Left& left, const HashedId& id);
    void pull_parallel(std::span<const std::int64_t> ids, std::span<float> rows);
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
    std::vector<float> gradient_;  // scratch: gradient of one row, with its decay
    std::vector<std::int64_t> pushed_ids_;
    TableTeam* team_ = nullptr;
};

}  // namespace dtrain::ps
