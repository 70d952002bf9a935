// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// SparseTable: everything except training: inserting and evicting rows, and snapshots.
#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "ps/table/sparse_table.hpp"

namespace dtrain::ps {

// Applies decay to the row's shows and clicks; returns whether the row stays.
bool SparseTable::ages(std::byte* row) const {
    const auto& rules = *options_.statistics;
    auto [shows, clicks, last_day] = layout_.statistics_of(row);
    shows *= static_cast<float>(rules.decay);
    clicks *= static_cast<float>(rules.decay);
    layout_.set_statistics(row, {shows, clicks, last_day});
    const auto score = (shows - clicks) * rules.show_coefficient + clicks * rules.click_coefficient;
    const auto unseen_days = std::int64_t{day_} - std::int64_t{last_day};
    return score >= rules.least_score && unseen_days <= rules.most_unseen_days;
}

std::size_t SparseTable::shrink() {
    if (touches_) touches_->halve();
    if (!options_.statistics) return 0;
    const auto before = size();
    const auto will_change = [&](const std::byte* row) {
        const auto [shows, clicks, last_day] = layout_.statistics_of(row);
        return shows != 0 || clicks != 0;
    };
    index_.for_each([&](const FoundRow& row) {
        if (will_change(row.bytes)) before_change(row);
        if (!ages(row.bytes)) erase(HashedId(RowArena::id_of(row.bytes)));
    });
    index_.tidy();
    if (spill_)
        spill_->revise(
            [&](std::byte* row) {
                const bool changes = will_change(row);
                if (!ages(row)) return Spill::Fate::goes;
                return changes ? Spill::Fate::changes : Spill::Fate::stays;
            },
            changes_);
    const auto evicted = before - size();
    counts_.evicted += evicted;
    return evicted;
}

void SparseTable::insert(const TableRow& row) {
    if (row.weights.size() != options_.width || row.state.size() != state_width())
        throw UsageError(
            fmt::format("table '{}': a row has {} weights and {} floats of state, expected {} and {}",
                        options_.name, row.weights.size(), row.state.size(), options_.width, state_width()));
    if (spill_) spill_->bring_back({&row.id, 1}, hot());
    const HashedId id(row.id);
    auto to = index_.find(id);
    if (to.bytes == nullptr) {
        check_room({&row.id, 1}, [](const HashedId& /*id*/) { return true; });
        to = index_.add(id);
        changes_.after_insert(to.location);
    } else {
        before_change(to);
    }
    layout_.write(to.bytes, row);
}

void SparseTable::insert_rows(std::span<const std::byte> rows) {
    const auto bytes = row_bytes();
    if (rows.size() % bytes != 0)
        throw UsageError(
            fmt::format("table '{}': {} bytes are no rows of {}", options_.name, rows.size(), bytes));
    std::vector<std::int64_t> ids;
    ids.reserve(rows.size() / bytes);
    for (std::size_t at = 0; at < rows.size(); at += bytes) ids.push_back(RowArena::id_of(&rows[at]));
    if (spill_) spill_->bring_back(ids, hot());
    check_room(ids, [](const HashedId& /*id*/) { return true; });
    index_.look_up(ids, [&](std::size_t i, const HashedId& id, FoundRow to) {
        if (to.bytes == nullptr) {
            to = index_.add(id);
            changes_.after_insert(to.location);
        } else {
            before_change(to);
        }
        std::memcpy(to.bytes, &rows[i * bytes], bytes);
    });
}

void SparseTable::check_loaded(std::optional<std::int64_t> twice) const {
    if (twice) throw Error(fmt::format("table '{}': id {} comes twice", options_.name, *twice));
    if (!options_.dict_size || size() <= *options_.dict_size) return;
    std::int64_t last = 0;
    for_each([&](const TableRow& row) { last = row.id; });
    throw DictSizeError(options_.name, *options_.dict_size, last);
}

bool SparseTable::erase(std::int64_t id) {
    return erase(HashedId(id)) || (spill_ && spill_->erase(id, changes_));
}

bool SparseTable::erase(const HashedId& id) {
    if (changes_.is_needed())
        if (const auto row = index_.find(id); row.bytes != nullptr)
            changes_.before_erase(row.location, {row.bytes, row_bytes()});
    return index_.erase(id);
}

std::uint64_t SparseTable::begin_snapshot(WhichRows which, RowSink& sink) {
    const auto in_memory = changes_.begin(which, index_.arenas(), sink);
    if (!spill_) return in_memory;
    try {
        return in_memory + spill_->begin_snapshot(which, sink, changes_);
    } catch (...) {
        changes_.end(false);
        throw;
    }
}

void SparseTable::end_snapshot(bool is_saved) {
    changes_.end(is_saved);
    if (spill_) spill_->end_snapshot();
}

LoadOverflow SparseTable::overflow() {
    if (!spill_) return {};
    return {.memory = spill_->limit() - std::min(spill_->limit(), bytes()),
            .add = [this](std::span<const std::byte> rows) { spill_->add(rows, index_); }};
}

}  // namespace dtrain::ps
