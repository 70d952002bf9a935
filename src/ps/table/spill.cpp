// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/spill.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::ps {
namespace {

// Minimum number of rows that are moved together.
constexpr std::uint64_t min_batch = 1024;

void sort_distinct(std::vector<std::int64_t>& ids) {
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
}

}  // namespace

Spill::Spill(const SpillOptions& options, const std::string& table, const Hot& hot, std::size_t other_bytes)
    : table_(table),
      limit_(options.memory_bytes / 8 * 7),
      other_bytes_(other_bytes),
      clock_(hot.index.arenas().size()) {
    // At least one batch of rows must fit.
    const auto min = hot_bytes(hot) + min_batch * (hot.index.row_bytes() + RowIndex::bytes_of_entry);
    if (limit_ < min)
        throw UsageError(
            fmt::format("table '{}': a limit of {} bytes of memory is too small: {} is the least", table_,
                        options.memory_bytes, (min + 6) / 7 * 8));
    cold_ = open_cold_rows(options, hot.index.row_bytes());
}

std::size_t Spill::hot_bytes(const Hot& hot) const {
    return other_bytes_ + hot.index.bytes() + hot.changes.bytes() + clock_.bytes();
}

void Spill::make_room(std::uint64_t rows, const Hot& hot) {
    const auto free = hot.index.free_rows();
    if (rows <= free) return;
    const auto more = (rows - free) * (hot.index.row_bytes() + RowIndex::bytes_of_entry);
    if (hot_bytes(hot) + more > limit_) evict(std::max(rows - free, min_batch), hot);
}

bool Spill::make_room_ahead(const Hot& hot) {
    constexpr std::uint64_t ahead = 8 * min_batch;
    const auto free = hot.index.free_rows();
    // Only once rows have been moved before, and only a fraction of a small table.
    if (cold_->size() == 0 || free >= std::min<std::uint64_t>(ahead, hot.index.size() / 16)) return false;
    try {
        evict(min_batch, hot);
    } catch (const Error&) {
        return false;  // the batch that needs the room will report it
    }
    return true;
}

void Spill::evict(std::uint64_t rows, const Hot& hot) {
    const auto arenas = hot.index.arenas();
    std::vector<ColdRow> cold;
    auto locations = clock_.pick(rows, arenas);
    std::ranges::sort(locations, {}, [&](const RowLocation& location) {
        return arenas[location.arena].id(location.number);
    });
    cold.reserve(locations.size());
    for (const auto& location : locations)
        cold.push_back({{arenas[location.arena].row(location.number), hot.index.row_bytes()},
                        hot.changes.stamp_of(location)});
    cold_->put(cold);
    for (std::size_t i = 0; i < locations.size(); ++i) {
        hot.changes.after_leaving(locations[i], cold[i].bytes, cold[i].stamp);
        hot.index.erase(HashedId(RowArena::id_of(cold[i].bytes.data())));
    }
}

void Spill::bring_back(std::span<const std::int64_t> ids, const Hot& hot) {
    make_room(ids.size(), hot);
    if (cold_->size() == 0) return;
    missing_.clear();
    hot.index.look_up(ids, [&](std::size_t /*i*/, const HashedId& id, const FoundRow& row) {
        if (row.bytes != nullptr)
            clock_.use(row.location);
        else
            missing_.push_back(id.id);
    });
    if (missing_.empty()) return;
    sort_distinct(missing_);
    moved_.clear();
    moved_.reserve(missing_.size());
    try {
        cold_->read(missing_, [&](const ColdRow& row) {
            const auto id = RowArena::id_of(row.bytes.data());
            const auto to = hot.index.add(HashedId(id));
            moved_.push_back({id, to.location, row.stamp});
            std::memcpy(to.bytes, row.bytes.data(), row.bytes.size());
        });
        missing_.clear();
        for (const auto& row : moved_) missing_.push_back(row.id);
        cold_->erase(missing_);
    } catch (...) {
        for (const auto& row : moved_) hot.index.erase(HashedId(row.id));
        throw;
    }
    for (const auto& [id, location, stamp] : moved_) hot.changes.after_return(location, stamp);
}

void Spill::read(std::span<const std::int64_t> ids, std::vector<std::size_t> indices,
                 const std::function<void(std::size_t index, const std::byte* row)>& function) const {
    const auto id_at = [&](std::size_t index) { return ids[index]; };
    std::ranges::sort(indices, {}, id_at);
    std::vector<std::int64_t> wanted;
    for (const auto index : indices)
        if (wanted.empty() || wanted.back() != ids[index]) wanted.push_back(ids[index]);
    cold_->read(wanted, [&](const ColdRow& row) {
        for (const auto index :
             std::ranges::equal_range(indices, RowArena::id_of(row.bytes.data()), {}, id_at))
            function(index, row.bytes.data());
    });
}

void Spill::for_each(const std::function<void(const std::byte* row)>& function) const {
    const auto cursor = cold_->cursor();
    while (const auto* row = cursor->next()) function(row->bytes.data());
}

bool Spill::erase(std::int64_t id, RowChanges& changes) {
    bool was_on_disk = false;
    std::uint32_t stamp = 0;
    cold_->read({&id, 1}, [&](const ColdRow& row) {
        was_on_disk = true;
        stamp = row.stamp;
    });
    if (!was_on_disk) return false;
    cold_->erase({&id, 1});
    changes.after_erase_on_disk(id, stamp);
    return true;
}

void Spill::revise(const std::function<Fate(std::byte* row)>& revise, RowChanges& changes) {
    std::vector<std::byte> bytes;  // of changed rows, contiguous
    std::vector<ColdRow> changed;
    std::vector<ColdRow> gone;
    std::vector<std::int64_t> gone_ids;
    const auto write = [&](std::size_t row_bytes) {
        std::vector<std::uint32_t> stamps;
        for (std::size_t i = 0; i < changed.size(); ++i) {
            stamps.push_back(changed[i].stamp);
            changed[i] = {std::span(bytes).subspan(i * row_bytes, row_bytes),
                          changes.stamp_of_change(changed[i].stamp)};
        }
        cold_->replace(changed);
        for (const auto stamp : stamps) changes.after_change_on_disk(stamp);
        cold_->erase(gone_ids);
        for (std::size_t i = 0; i < gone.size(); ++i) changes.after_erase_on_disk(gone_ids[i], gone[i].stamp);
        bytes.clear();
        changed.clear();
        gone.clear();
        gone_ids.clear();
    };
    const auto cursor = cold_->cursor();
    std::vector<std::byte> copy;
    while (const auto* row = cursor->next()) {
        copy.assign(row->bytes.begin(), row->bytes.end());
        const auto fate = revise(copy.data());
        if (fate == Fate::changes) {
            bytes.insert(bytes.end(), copy.begin(), copy.end());
            changed.push_back({{}, row->stamp});
        } else if (fate == Fate::goes) {
            gone_ids.push_back(RowArena::id_of(copy.data()));
            gone.push_back({{}, row->stamp});
        }
        if (changed.size() + gone.size() >= min_batch) write(copy.size());
    }
    write(copy.size());
}

void Spill::add(std::span<const std::byte> rows, const RowIndex& index) {
    const auto row_bytes = index.row_bytes();
    std::vector<std::int64_t> ids;
    std::vector<ColdRow> cold;
    for (std::size_t at = 0; at < rows.size(); at += row_bytes) {
        ids.push_back(RowArena::id_of(&rows[at]));
        cold.push_back({rows.subspan(at, row_bytes), 0});
    }
    const auto refuse = [&](std::int64_t id) {
        throw Error(fmt::format("table '{}': id {} comes twice", table_, id));
    };
    index.look_up(ids, [&](std::size_t /*i*/, const HashedId& id, const FoundRow& row) {
        if (row.bytes != nullptr) refuse(id.id);
    });
    std::ranges::sort(ids);
    if (const auto twice = std::ranges::adjacent_find(ids); twice != ids.end()) refuse(*twice);
    cold_->read(ids, [&](const ColdRow& row) { refuse(RowArena::id_of(row.bytes.data())); });
    cold_->put(cold);
}

std::uint64_t Spill::begin_snapshot(WhichRows which, RowSink& sink, const RowChanges& changes) {
    snapshot_ = {cold_->cursor(), &sink, which};
    return which == WhichRows::all ? cold_->size() : changes.changed_on_disk();
}

bool Spill::go_on_with_snapshot(std::uint64_t rows, const RowChanges& changes) {
    // Checking an unchanged row is cheaper than taking one.
    constexpr std::uint64_t checks_of_a_row = 8;
    auto& [cursor, sink, which] = snapshot_;
    if (cursor == nullptr) return false;
    for (std::uint64_t looks = 0; looks < rows * checks_of_a_row;) {
        const auto* row = cursor->next();
        if (row == nullptr) {
            cursor.reset();
            return false;
        }
        const bool is_taken = which == WhichRows::all || changes.is_changed(row->stamp);
        if (is_taken) sink->take(row->bytes);
        looks += is_taken ? checks_of_a_row : 1;
    }
    return true;
}

}  // namespace dtrain::ps
