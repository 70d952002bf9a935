// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <absl/container/flat_hash_set.h>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ps/table/id_hash.hpp"
#include "ps/table/row_arena.hpp"
#include "ps/table/row_changes.hpp"
#include "ps/table/set_memory.hpp"

namespace dtrain::ps {

struct HashedId {
    explicit HashedId(std::int64_t of) : id(of), hash(slot_hash(of)) {}

    std::int64_t id;
    std::uint64_t hash;
};

struct FoundRow {
    std::byte* bytes = nullptr;  ///< null: there is none
    RowPlace place;
};

/// Finds the row of an id. Any int64 is an id. The ids lie in the rows alone: the index is sets of 32-bit row
/// numbers, which hash and compare the ids that the rows begin with.
///
/// There are many sets of different sizes: set i gets a share of the ids in proportion to 2^(i / sets), so
/// that one after the other doubles, never all at once. Each doubling is short, and all sets together are
/// about three quarters full at any number of rows.
class RowIndex {
  public:
    static constexpr std::size_t sets = 1024;

    /// About what finds a row: 8.4 bytes at most, and some more where sets double and rows come and go.
    static constexpr std::size_t bytes_of_entry = 10;

    /// @param row_bytes of a row, its id included
    /// @param arenas among which rows are dealt out; each can have 2^32
    RowIndex(std::size_t row_bytes, std::size_t arenas);

    FoundRow find(const HashedId& id) const {
        const auto& set = sets_[set_of(id.hash)];
        const auto place = set.find(id);
        return place == set.end() ? FoundRow{} : found(set, *place);
    }

    /// Makes a row for an id that has none. What follows the id in it is undefined.
    FoundRow add(const HashedId& id);

    /// @returns whether there was a row
    bool erase(const HashedId& id);

    /// Gives the memory of sets back that have lost most of their rows.
    void tidy();

    /// RowArena::settle() of one arena.
    bool settle();

    std::size_t size() const { return size_; }

    /// Rows that can be added before rows need more memory, if they come to all arenas alike.
    std::size_t free_rows() const {
        std::size_t rows = 0;
        for (const auto& arena : arenas_) rows += arena.free_rows();
        return rows;
    }

    std::size_t row_bytes() const { return row_bytes_; }

    /// Of the index and of the rows.
    std::size_t bytes() const;

    /// Asks for the memory of a row that is wanted soon.
    void prefetch(const FoundRow& row) const {
        constexpr std::size_t line = 64;
        for (std::size_t from = 0; from < row_bytes_ && from < 8 * line; from += line)
            __builtin_prefetch(row.bytes + from);
    }

    /// Calls function(i, hashed id, found row) for the ids in their order. The memory for ids that follow is
    /// asked for early, so that they wait for it together. The function may add rows.
    template <class Function>
    void look_up(std::span<const std::int64_t> ids, const Function& function) const;

    /// Calls function(found row) for each row, in an order that the order of additions fixes.
    template <class Function>
    void for_each(const Function& function) const {
        for (std::uint32_t i = 0; i < arenas_.size(); ++i)
            arenas_[i].for_each([&](std::uint32_t number) {
                function(FoundRow{arenas_[i].row(number), {i, number}});
            });
    }

    std::span<const RowArena> arenas() const { return arenas_; }

    /// The set that ids of this hash are in. Sets get shares in proportion to 2^(i / sets): i / sets is
    /// log2(1 + x) of an even x in [0, 1), here by a parabola that is at most 0.01 away.
    static std::size_t set_of(std::uint64_t hash) {
        const auto x = hash >> 32U;
        const auto bent = (x * ((std::uint64_t{1} << 32U) - x) >> 32U) * bend >> 32U;
        return static_cast<std::size_t>((x + bent) * sets >> 32U);
    }

  private:
    friend class BulkLoad;

    static constexpr std::uint64_t bend = 1477468749;  // 0.344 in units of 2^-32

    // Where a hash is looked for in its set: the lower half, as no set has 2^25 places.
    static std::uint32_t place_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash); }

    // An id of which nothing is compared but the bits that a set keeps beside each row number.
    struct Likely {
        std::uint32_t place;
    };

    // A row that is put into a set, and one there that may have its id, to be compared when it has come from
    // memory.
    struct Alike {
        const std::byte* row;
        std::uint32_t place;   // of the first one
        std::uint32_t number;  // likewise
    };

    // A row whose id no other should have yet: it finds none, and leaves those that may have it to the
    // caller.
    struct Fresh {
        std::uint32_t place;
        std::uint32_t number;
        std::vector<Alike>* alike;
    };

    struct Hash {
        using is_transparent = void;
        const RowArena* arena;
        std::size_t operator()(std::uint32_t row) const { return slot_hash(arena->id(row)); }
        std::size_t operator()(const HashedId& id) const { return id.hash; }
        std::size_t operator()(const Likely& likely) const { return likely.place; }
        std::size_t operator()(const Fresh& fresh) const { return fresh.place; }
    };

    struct Equal {
        using is_transparent = void;
        const RowArena* arena;
        bool operator()(std::uint32_t a, std::uint32_t b) const { return a == b; }
        bool operator()(std::uint32_t row, const HashedId& id) const { return arena->id(row) == id.id; }
        bool operator()(std::uint32_t /*row*/, const Likely& /*likely*/) const { return true; }
        bool operator()(std::uint32_t row, const Fresh& fresh) const {
            fresh.alike->push_back({arena->row(row), fresh.place, fresh.number});
            return false;
        }
    };

    using Set = absl::flat_hash_set<std::uint32_t, Hash, Equal, SetAllocator<std::uint32_t>>;

    FoundRow found(const Set& set, std::uint32_t number) const {
        const auto* arena = set.hash_function().arena;
        return {arena->row(number), {static_cast<std::uint32_t>(arena - arenas_.data()), number}};
    }

    static void enlarge(Set& set, std::size_t rows);

    // Of so many that are about to come into an empty index in great number.
    static std::size_t rows_of_set(std::size_t set, std::uint64_t rows);

    /// For one more row.
    static void make_room(Set& set) {
        // Seven eighths are the most that Abseil fills.
        if (set.size() == set.capacity() - set.capacity() / 8) enlarge(set, set.size() + 1);
    }

    std::size_t row_bytes_;
    std::vector<RowArena> arenas_;
    std::unique_ptr<SetMemory> memory_;  // of the sets, which know its address
    std::vector<Set> sets_;
    std::size_t size_ = 0;
};

template <class Function>
void RowIndex::look_up(std::span<const std::int64_t> ids, const Function& function) const {
    constexpr std::size_t ring = 128;
    constexpr std::size_t ahead = 24;  // from one stage to the next
    struct Pending {
        HashedId id{0};
        const Set* set = nullptr;
        FoundRow row;  // that the id is likely to have
    };
    std::array<Pending, ring> pending;
    const auto n = ids.size();
    for (std::size_t i = 0; i < n + 2 * ahead; ++i) {
        if (i < n) {
            auto& at = pending[i % ring];
            at.id = HashedId(ids[i]);
            at.set = &sets_[set_of(at.id.hash)];
            at.set->prefetch(at.id);
        }
        if (i >= ahead && i - ahead < n) {
            auto& at = pending[(i - ahead) % ring];
            const auto likely = at.set->find(Likely{place_of(at.id.hash)});
            at.row = likely == at.set->end() ? FoundRow{} : found(*at.set, *likely);
            if (at.row.bytes != nullptr) prefetch(at.row);
        }
        if (i >= 2 * ahead) {
            const auto& at = pending[(i - 2 * ahead) % ring];
            // A row that was not there then can be there now: the function adds rows.
            const bool is_it = at.row.bytes != nullptr && RowArena::id_of(at.row.bytes) == at.id.id;
            function(i - 2 * ahead, at.id, is_it ? at.row : find(at.id));
        }
    }
}

}  // namespace dtrain::ps
