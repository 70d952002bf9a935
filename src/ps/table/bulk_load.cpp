// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/bulk_load.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/work_team.hpp"

namespace dtrain::ps {
namespace {

constexpr std::size_t ahead = 16;

}  // namespace

BulkLoad::BulkLoad(RowIndex& index, std::uint64_t rows, LoadOverflow overflow)
    : index_(index), overflow_(std::move(overflow)) {
    rows = std::min<std::uint64_t>(rows, overflow_.memory / (index.row_bytes() + RowIndex::bytes_of_entry));
    index_.reserve(rows);
    for (auto& arena : index_.arenas_) arena.reserve(rows / index_.arenas_.size());
}

void BulkLoad::add(std::span<const std::byte> rows) {
    const auto most = window_rows * index_.row_bytes();
    for (; !rows.empty(); rows = rows.subspan(std::min(most, rows.size())))
        add_part(rows.first(std::min(most, rows.size())));
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
    if (!is_full_) insert_pending();
    is_full_ = true;
    overflow_.add(rows);
}

bool BulkLoad::is_room_for(std::uint64_t rows) {
    const auto bytes = rows * (index_.row_bytes() + RowIndex::bytes_of_entry);
    return taken_.fetch_add(bytes) + bytes <= overflow_.memory;
}

std::unique_ptr<BulkLoad::Window> BulkLoad::take_window() {
    const std::scoped_lock lock(mutex_);
    if (windows_.empty()) return std::make_unique<Window>();
    auto window = std::move(windows_.back());
    windows_.pop_back();
    return window;
}

bool BulkLoad::add_to_memory(std::span<const std::byte> rows) {
    auto window = take_window();
    const bool is_placed = place(rows, *window);
    if (window->rows.size() >= window_rows) insert(*window);
    const std::scoped_lock lock(mutex_);
    windows_.push_back(std::move(window));
    return is_placed;
}

/// @returns false when an arena has no addresses for them: they are not there then
bool BulkLoad::place(std::span<const std::byte> rows, Window& window) {
    auto& arenas = index_.arenas_;
    const auto bytes = index_.row_bytes();
    const auto before = window.rows.size();
    std::vector<std::uint32_t> next(arenas.size());  // at first how many there are, then row numbers
    for (std::size_t at = 0; at < rows.size(); at += bytes) {
        const auto hash = slot_hash(RowArena::id_of(&rows[at]));
        const auto set = static_cast<std::uint32_t>(RowIndex::set_of(hash));
        window.rows.push_back({hash, 0, set});
        ++next[set % arenas.size()];
    }
    {
        const std::scoped_lock lock(mutex_);
        bool has_room = true;
        for (std::size_t i = 0; i < next.size(); ++i)
            has_room = has_room && arenas[i].numbers() + next[i] <= arenas[i].reserved();
        if (!has_room) {
            window.rows.resize(before);
            return false;
        }
        for (std::size_t i = 0; i < next.size(); ++i) next[i] = arenas[i].add_many(next[i]);
    }
    if (arenas.size() == 1) copy(rows, next[0]);
    for (auto i = before; i < window.rows.size(); ++i) {
        auto& row = window.rows[i];
        const auto arena = row.set % arenas.size();
        row.number = next[arena]++;
        if (arenas.size() > 1) std::memcpy(arenas[arena].row(row.number), &rows[(i - before) * bytes], bytes);
    }
    return true;
}

void BulkLoad::copy(std::span<const std::byte> rows, std::uint32_t first) const {
    const auto& arena = index_.arenas_[0];
    while (!rows.empty()) {
        const auto together = arena.rows_behind(first, rows.size() / index_.row_bytes());
        std::memcpy(arena.row(first), rows.data(), together.size());
        rows = rows.subspan(together.size());
        first += static_cast<std::uint32_t>(together.size() / index_.row_bytes());
    }
}

// Addresses change only while no other thread looks one up.
void BulkLoad::enlarge_arenas(std::uint64_t rows) {
    const std::unique_lock lock(memory_);
    for (auto& arena : index_.arenas_) arena.reserve(arena.numbers() + rows);
}

void BulkLoad::sort(Window& window) {
    auto& [rows, sorted, begin, alike] = window;
    begin.fill(0);
    for (const auto& row : rows) ++begin[row.set];
    std::exclusive_scan(begin.begin(), begin.end(), begin.begin(), std::uint32_t{0});
    sorted.resize(rows.size());
    for (const auto& row : rows) sorted[begin[row.set]++] = row;
    // Each has become the next one's.
    std::copy_backward(begin.begin(), begin.end() - 1, begin.end());
    begin[0] = 0;
}

void BulkLoad::insert(Window& window) {
    sort(window);
    added_ += window.rows.size();
    window.rows.clear();
    // Threads begin at different sets, so that they seldom meet.
    const auto from = turn_.fetch_add(locks / 2 + 1);
    for (std::size_t i = 0; i < locks; ++i) {
        const auto at = (from + i) % locks;
        const auto begin = window.begin_of_set[at * sets_of_lock];
        const auto end = window.begin_of_set[(at + 1) * sets_of_lock];
        if (begin == end) continue;
        const std::scoped_lock lock(sets_[at]);
        insert(std::span(window.sorted).subspan(begin, end - begin), window.alike);
    }
}

void BulkLoad::insert(std::span<const Row> rows, std::vector<RowIndex::Alike>& alike) {
    auto& sets = index_.sets_;
    const auto prefetch = [&](const Row& row) { sets[row.set].prefetch(RowIndex::Likely{row.hash}); };
    alike.clear();
    for (const auto& row : rows.first(std::min(ahead, rows.size()))) prefetch(row);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i + ahead < rows.size()) prefetch(rows[i + ahead]);
        const auto& [hash, number, at] = rows[i];
        RowIndex::make_room(sets[at]);
        sets[at].lazy_emplace(RowIndex::Fresh{hash, &alike},
                              [&](const auto& construct) { construct(number); });
    }
    compare(alike);
}

void BulkLoad::compare(std::span<const RowIndex::Alike> alike) {
    for (const auto& [row, hash] : alike) {
        const auto id = RowArena::id_of(row);
        if (slot_hash(id) != hash) continue;
        const std::scoped_lock lock(mutex_);
        twice_ = id;
    }
}

/// Those of each window by a thread.
void BulkLoad::insert_pending() {
    if (windows_.empty()) return;
    WorkTeam team(static_cast<int>(windows_.size()));
    team.run(windows_.size(), [this](std::size_t number) { insert(*windows_[number]); });
    windows_.clear();
}

std::optional<std::int64_t> BulkLoad::finish() {
    insert_pending();
    index_.size_ += added_;
    return twice_;
}

}  // namespace dtrain::ps
