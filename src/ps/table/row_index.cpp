// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/row_index.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dtrain::ps {
namespace {

/// The x in [0, 1] for which x + bend x (1 - x) = y.
double unbent(double y, double bend) {
    return ((1 + bend) - std::sqrt((1 + bend) * (1 + bend) - 4 * bend * y)) / (2 * bend);
}

}  // namespace

RowIndex::RowIndex(std::size_t row_bytes, std::size_t arenas)
    : row_bytes_(row_bytes), memory_(std::make_unique<SetMemory>()) {
    arenas_.reserve(arenas);
    for (std::size_t i = 0; i < arenas; ++i) arenas_.emplace_back(row_bytes);
    sets_.reserve(sets);
    for (std::size_t i = 0; i < sets; ++i) {
        const auto* arena = &arenas_[i % arenas];
        sets_.emplace_back(0, Hash{arena}, Equal{arena}, SetAllocator<std::uint32_t>(*memory_));
    }
}

// As the set's own growth, but prefetches the rows' ids, which are scattered in memory.
void RowIndex::enlarge(Set& set, std::size_t wanted) {
    constexpr std::size_t ahead = 16;
    const auto& arena = *set.hash_function().arena;
    const std::vector<std::uint32_t> rows(set.begin(), set.end());
    Set larger(0, set.hash_function(), set.key_eq(), set.get_allocator());
    larger.reserve(wanted);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i + ahead < rows.size()) __builtin_prefetch(arena.row(rows[i + ahead]));
        larger.insert(rows[i]);
    }
    set = std::move(larger);
}

FoundRow RowIndex::add(const HashedId& id) {
    const auto at = set_of(id.hash);
    auto& arena = arenas_[at % arenas_.size()];
    const auto number = arena.add(id.id);
    try {
        make_room(sets_[at]);
        sets_[at].lazy_emplace(id, [&](const auto& construct) { construct(number); });
    } catch (...) {
        arena.give_back(number);
        throw;
    }
    ++size_;
    return found(sets_[at], number);
}

std::size_t RowIndex::rows_of_set(std::size_t set, std::uint64_t rows) {
    const auto bent_by = static_cast<double>(bend) * 0x1p-32;
    const auto begin = unbent(static_cast<double>(set) / sets, bent_by);
    const auto end = unbent(static_cast<double>(set + 1) / sets, bent_by);
    const auto expected = (end - begin) * static_cast<double>(rows);
    // Two standard deviations below the mean: a set that is too small doubles, one that is too large never
    // shrinks.
    return static_cast<std::size_t>(std::max(0.0, expected - 2 * std::sqrt(expected)));
}

bool RowIndex::erase(const HashedId& id) {
    const auto at = set_of(id.hash);
    const auto it = sets_[at].find(id);
    if (it == sets_[at].end()) return false;
    const auto number = *it;
    sets_[at].erase(it);
    arenas_[at % arenas_.size()].give_back(number);
    --size_;
    return true;
}

void RowIndex::tidy() {
    for (auto& set : sets_)
        if (set.size() < set.capacity() * 7 / 8 / 4) set.rehash(0);
}

bool RowIndex::settle() {
    return std::ranges::any_of(arenas_, [](RowArena& arena) { return arena.settle(); });
}

std::size_t RowIndex::bytes() const {
    // A set has one control byte per slot, and a copy of the first ones at the end.
    constexpr std::size_t repeated = 16;
    std::size_t bytes = sets_.capacity() * sizeof(Set) + memory_->spare_bytes();
    for (const auto& set : sets_)
        if (set.capacity() > 0) bytes += set.capacity() * (sizeof(std::uint32_t) + 1) + repeated;
    for (const auto& arena : arenas_) bytes += arena.bytes();
    return bytes;
}

}  // namespace dtrain::ps
