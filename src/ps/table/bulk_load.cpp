// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/bulk_load.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/work_team.hpp"

namespace dtrain::ps {
namespace {

constexpr std::size_t ahead = 16;

// Waiting rows are inserted into a set in batches, so that each cache line of its memory gets several of
// them, or the whole set stays in the cache.
constexpr std::uint64_t part_of_set = 3;
constexpr std::uint64_t fewest_waiting = 1024;

// Limits how many rows are hashed at once, so that the hashes stay in the cache too.
constexpr std::size_t part_rows = std::size_t{1} << 14U;

}  // namespace

BulkLoad::BulkLoad(RowIndex& index, std::uint64_t rows, LoadOverflow overflow)
    : index_(index),
      overflow_(std::move(overflow)),
      rows_(
          std::min<std::uint64_t>(rows, overflow_.memory / (index.row_bytes() + RowIndex::bytes_of_entry))) {
    const auto of_set = std::max<std::uint64_t>(rows_ / RowIndex::sets, 1);
    max_waiting_ = std::min(of_set, std::max(of_set / part_of_set, fewest_waiting));
    for (auto& arena : index_.arenas_) arena.reserve(rows_ / index_.arenas_.size());
}

void BulkLoad::add(std::span<const std::byte> rows) {
    const auto max = part_rows * index_.row_bytes();
    for (; !rows.empty(); rows = rows.subspan(std::min(max, rows.size())))
        add_part(rows.first(std::min(max, rows.size())));
}

void BulkLoad::add_part(std::span<const std::byte> rows) {
    const auto count = rows.size() / index_.row_bytes();
    if (is_room_for(count)) {
        for (std::shared_lock lock(memory_); !is_full_; lock.lock()) {
            if (add_to_memory(rows)) return;
            lock.unlock();
            enlarge_arenas(count);
        }
    }
    const std::unique_lock lock(memory_);
    if (!is_full_) insert_all();
    is_full_ = true;
    overflow_.add(rows);
}

bool BulkLoad::is_room_for(std::uint64_t rows) {
    const auto bytes = rows * (index_.row_bytes() + RowIndex::bytes_of_entry);
    return taken_.fetch_add(bytes) + bytes <= overflow_.memory;
}

std::unique_ptr<BulkLoad::Waiting> BulkLoad::take_waiting() {
    {
        const std::scoped_lock lock(mutex_);
        if (!waiting_.empty()) {
            auto last = std::move(waiting_.back());
            waiting_.pop_back();
            return last;
        }
    }
    auto made = std::make_unique<Waiting>();
    made->memory = make_huge_pages(RowIndex::sets * max_waiting_ * sizeof(Row));
    return made;
}

bool BulkLoad::add_to_memory(std::span<const std::byte> rows) {
    auto waiting = take_waiting();
    const bool is_placed = place(rows, *waiting);
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(std::move(waiting));
    return is_placed;
}

/// Copies rows into the arenas. @returns false, with nothing added, if an arena has no reserved addresses for
/// them
bool BulkLoad::place(std::span<const std::byte> rows, Waiting& waiting) {
    auto& arenas = index_.arenas_;
    const auto bytes = index_.row_bytes();
    const bool is_one = arenas.size() == 1;
    const auto arena_of = [&](std::uint32_t set) { return is_one ? 0 : set % arenas.size(); };
    std::vector<std::uint32_t> next(arenas.size());  // number of rows per arena, then next row number
    waiting.hashed.clear();
    for (std::size_t at = 0; at < rows.size(); at += bytes) {
        const auto hash = slot_hash(RowArena::id_of(&rows[at]));
        const auto set = static_cast<std::uint32_t>(RowIndex::set_of(hash));
        waiting.hashed.push_back({RowIndex::position_of(hash), set});
        ++next[arena_of(set)];
    }
    {
        const std::scoped_lock lock(mutex_);
        for (std::size_t i = 0; i < next.size(); ++i)
            if (arenas[i].numbers() + next[i] > arenas[i].reserved()) return false;
        for (std::size_t i = 0; i < next.size(); ++i) next[i] = arenas[i].add_many(next[i]);
    }
    if (is_one) copy(rows, next[0]);
    const auto* row = rows.data();
    for (const auto& [position, set] : waiting.hashed) {
        const auto arena = arena_of(set);
        const auto number = next[arena]++;
        if (!is_one) std::memcpy(arenas[arena].row(number), row, bytes);
        row += bytes;
        waiting.rows()[set * max_waiting_ + waiting.count[set]++] = {position, number};
        if (waiting.count[set] == max_waiting_) insert(set, waiting);
    }
    return true;
}

void BulkLoad::copy(std::span<const std::byte> rows, std::uint32_t first) const {
    const auto& arena = index_.arenas_[0];
    while (!rows.empty()) {
        const auto together = arena.contiguous_rows(first, rows.size() / index_.row_bytes());
        std::memcpy(arena.row(first), rows.data(), together.size());
        rows = rows.subspan(together.size());
        first += static_cast<std::uint32_t>(together.size() / index_.row_bytes());
    }
}

// Exclusive, since no other thread may access rows while addresses change.
void BulkLoad::enlarge_arenas(std::uint64_t rows) {
    const std::unique_lock lock(memory_);
    for (auto& arena : index_.arenas_) arena.reserve(arena.numbers() + rows);
}

void BulkLoad::insert(std::size_t set, Waiting& waiting) {
    const std::span rows(waiting.rows() + set * max_waiting_, std::exchange(waiting.count[set], 0));
    auto& to = index_.sets_[set];
    waiting.alike.clear();
    {
        const std::scoped_lock lock(sets_[set]);
        if (to.capacity() == 0) RowIndex::enlarge(to, RowIndex::rows_of_set(set, rows_));
        for (const auto& row : rows.first(std::min(ahead, rows.size())))
            to.prefetch(RowIndex::Likely{row.position});
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (i + ahead < rows.size()) to.prefetch(RowIndex::Likely{rows[i + ahead].position});
            RowIndex::make_room(to);
            const auto& [position, number] = rows[i];
            to.lazy_emplace(RowIndex::Fresh{position, number, &waiting.alike},
                            [number](const auto& construct) { construct(number); });
        }
    }
    added_ += rows.size();
    compare(index_.arenas_[set % index_.arenas_.size()], waiting.alike);
}

void BulkLoad::compare(const RowArena& arena, std::span<const RowIndex::Alike> alike) {
    for (const auto& [row, position, number] : alike) {
        const auto id = RowArena::id_of(row);
        if (RowIndex::position_of(slot_hash(id)) != position || id != arena.id(number)) continue;
        const std::scoped_lock lock(mutex_);
        twice_ = id;
    }
}

/// Inserts all waiting rows, one thread per Waiting; the threads start at different sets.
void BulkLoad::insert_all() {
    if (waiting_.empty()) return;
    WorkTeam team(static_cast<int>(waiting_.size()));
    team.run(waiting_.size(), [this](std::size_t number) {
        const auto first = number * (RowIndex::sets / waiting_.size());
        for (std::size_t i = 0; i < RowIndex::sets; ++i)
            insert((first + i) % RowIndex::sets, *waiting_[number]);
    });
    waiting_.clear();
}

std::optional<std::int64_t> BulkLoad::finish() {
    insert_all();
    index_.size_ += added_;
    return twice_;
}

}  // namespace dtrain::ps
