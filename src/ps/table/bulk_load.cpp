// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/bulk_load.hpp"

#include <algorithm>
#include <cstring>
#include <future>
#include <numeric>

namespace dtrain::ps {

void BulkLoad::copy(std::span<const std::byte> rows, const RowArena& arena, std::uint32_t first) const {
    while (!rows.empty()) {
        const auto together = arena.rows_behind(first, rows.size() / index_.row_bytes());
        std::memcpy(arena.row(first), rows.data(), together.size());
        rows = rows.subspan(together.size());
        first += static_cast<std::uint32_t>(together.size() / index_.row_bytes());
    }
}

bool BulkLoad::is_room_for(std::uint64_t rows) {
    const auto bytes = rows * (index_.row_bytes() + RowIndex::bytes_of_entry);
    return taken_.fetch_add(bytes) + bytes <= overflow_.memory;
}

void BulkLoad::add(std::span<const std::byte> rows) {
    if (overflow_.add == nullptr) return add_to_memory(rows);
    {
        const std::shared_lock lock(memory_);
        if (!is_full_ && is_room_for(rows.size() / index_.row_bytes())) return add_to_memory(rows);
    }
    const std::unique_lock lock(memory_);
    if (!is_full_) make_sets();
    is_full_ = true;
    overflow_.add(rows);
}

void BulkLoad::add_to_memory(std::span<const std::byte> rows) {
    if (index_.arenas_.size() > 1) return deal(rows);
    std::uint32_t first = 0;
    {
        const std::scoped_lock lock(mutex_);
        first = index_.arenas_[0].add_many(rows.size() / index_.row_bytes());
    }
    copy(rows, index_.arenas_[0], first);
}

void BulkLoad::deal(std::span<const std::byte> rows) {
    const auto bytes = index_.row_bytes();
    std::vector<std::uint32_t> arena_of(rows.size() / bytes);
    std::vector<std::uint32_t> next(index_.arenas_.size());  // at first how many there are, then row numbers
    for (std::size_t i = 0; i < arena_of.size(); ++i) {
        const auto set = RowIndex::set_of(slot_hash(RowArena::id_of(&rows[i * bytes])));
        arena_of[i] = static_cast<std::uint32_t>(set % next.size());
        ++next[arena_of[i]];
    }
    {
        const std::scoped_lock lock(mutex_);
        for (std::size_t i = 0; i < next.size(); ++i) next[i] = index_.arenas_[i].add_many(next[i]);
    }
    for (std::size_t i = 0; i < arena_of.size(); ++i)
        copy(rows.subspan(i * bytes, bytes), index_.arenas_[arena_of[i]], next[arena_of[i]]++);
}

void BulkLoad::insert(std::span<const Row> rows, Part& part) {
    constexpr std::size_t ahead = 16;
    // By sets: each is a few times smaller than a core's own cache, all of them are not.
    std::vector<std::uint32_t> end(RowIndex::sets + 1);
    for (const auto& row : rows) ++end[row.set + 1];
    std::partial_sum(end.begin(), end.end(), end.begin());
    std::vector<Row> sorted(rows.size());
    for (const auto& row : rows) sorted[end[row.set]++] = row;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        if (i + ahead < sorted.size()) {
            const auto& next = sorted[i + ahead];
            index_.sets_[next.set].prefetch(HashedId(next.id));
        }
        bool is_new = false;
        index_.sets_[sorted[i].set].lazy_emplace(HashedId(sorted[i].id), [&](const auto& construct) {
            construct(sorted[i].number);
            is_new = true;
        });
        if (!is_new) part.twice = sorted[i].id;
        part.added += is_new ? 1 : 0;
    }
}

BulkLoad::Part BulkLoad::fill_sets(std::size_t part, std::size_t parts) {
    constexpr std::size_t at_once = std::size_t{1} << 19U;
    std::vector<Row> rows;
    Part out;
    for (const auto& arena : index_.arenas_)
        arena.for_each([&](std::uint32_t number) {
            const HashedId id(arena.id(number));
            const auto set = RowIndex::set_of(id.hash);
            if (set % parts != part) return;
            rows.push_back({id.id, number, static_cast<std::uint32_t>(set)});
            if (rows.size() < at_once) return;
            insert(rows, out);
            rows.clear();
        });
    insert(rows, out);
    return out;
}

std::optional<std::int64_t> BulkLoad::finish() {
    if (!is_full_) make_sets();
    return twice_;
}

void BulkLoad::make_sets() {
    std::uint64_t rows = 0;
    for (const auto& arena : index_.arenas_) rows += arena.size();
    index_.reserve(rows);
    auto other = std::async(std::launch::async, [this] { return fill_sets(1, 2); });
    const auto own = fill_sets(0, 2);
    const auto others = other.get();
    index_.size_ += own.added + others.added;
    twice_ = own.twice ? own.twice : others.twice;
}

}  // namespace dtrain::ps
