// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/row_index.hpp"

#include <algorithm>
#include <utility>

namespace dtrain::ps {

RowIndex::RowIndex(std::size_t row_bytes, std::size_t arenas) : row_bytes_(row_bytes) {
    arenas_.reserve(arenas);
    for (std::size_t i = 0; i < arenas; ++i) arenas_.emplace_back(row_bytes);
    sets_.reserve(sets);
    for (std::size_t i = 0; i < sets; ++i) {
        const auto* arena = &arenas_[i % arenas];
        sets_.emplace_back(0, Hash{arena}, Equal{arena});
    }
}

// What the set would do by itself, but with the rows' ids asked for in time: they lie anywhere.
void RowIndex::enlarge(Set& set) {
    constexpr std::size_t ahead = 16;
    const auto& arena = *set.hash_function().arena;
    const std::vector<std::uint32_t> rows(set.begin(), set.end());
    Set larger(0, set.hash_function(), set.key_eq());
    larger.reserve(rows.size() + 1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (i + ahead < rows.size()) __builtin_prefetch(arena.row(rows[i + ahead]));
        larger.insert(rows[i]);
    }
    set = std::move(larger);
}

std::byte* RowIndex::add(const HashedId& id) {
    const auto at = set_of(id.hash);
    auto& arena = arenas_[at % arenas_.size()];
    const auto number = arena.add(id.id);
    try {
        // Seven eighths are the most that Abseil fills.
        if (sets_[at].size() == sets_[at].capacity() - sets_[at].capacity() / 8) enlarge(sets_[at]);
        sets_[at].lazy_emplace(id, [&](const auto& construct) { construct(number); });
    } catch (...) {
        arena.give_back(number);
        throw;
    }
    ++size_;
    return arena.row(number);
}

bool RowIndex::erase(const HashedId& id) {
    const auto at = set_of(id.hash);
    const auto place = sets_[at].find(id);
    if (place == sets_[at].end()) return false;
    const auto number = *place;
    sets_[at].erase(place);
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
    // A set keeps a byte beside each place, and repeats the first ones at the end.
    constexpr std::size_t repeated = 16;
    std::size_t bytes = sets_.capacity() * sizeof(Set);
    for (const auto& set : sets_)
        if (set.capacity() > 0) bytes += set.capacity() * (sizeof(std::uint32_t) + 1) + repeated;
    for (const auto& arena : arenas_) bytes += arena.bytes();
    return bytes;
}

}  // namespace dtrain::ps
