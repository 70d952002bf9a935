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
    std::byte* bytes = nullptr;  ///< null: no row
    RowLocation location;
};

/// Finds the row of an id; any int64 is a valid id. Ids are stored only in the rows: the index consists of
/// sets of 32-bit row numbers, which hash and compare the ids at the start of the rows.
///
/// There are many sets of different sizes: set i gets a fraction of the ids proportional to 2^(i / sets), so
/// that sets double one after the other, never all at once. Each doubling is short, and all sets together are
/// about three quarters full at any number of rows.
class RowIndex {
  public:
    static constexpr std::size_t sets = 1024;

    /// Approximate index memory per row: at most 8.4 bytes, and some more while sets double and rows are
    /// added and erased.
    static constexpr std::size_t bytes_of_entry = 10;

    /// @param row_bytes size of a row, including its id
    /// @param arenas number of arenas over which rows are distributed; each holds up to 2^32
    RowIndex(std::size_t row_bytes, std::size_t arenas);

    FoundRow find(const HashedId& id) const {
        const auto& set = sets_[set_of(id.hash)];
        const auto it = set.find(id);
        return it == set.end() ? FoundRow{} : found(set, *it);
    }

    /// Adds a row for an id that has none. The content after the id is undefined.
    FoundRow add(const HashedId& id);

    /// @returns whether the row existed
    bool erase(const HashedId& id);

    /// Shrinks sets that have lost most of their rows.
    void tidy();

    /// Calls RowArena::settle() for one arena.
    bool settle();

    std::size_t size() const { return size_; }

    /// Number of rows that can be added without more memory for rows, if they are spread evenly over the
    /// arenas.
    std::size_t free_rows() const {
        std::size_t rows = 0;
        for (const auto& arena : arenas_) rows += arena.free_rows();
        return rows;
    }

    std::size_t row_bytes() const { return row_bytes_; }

    /// Memory of index and rows.
    std::size_t bytes() const;

    /// Prefetches a row that is needed soon.
    void prefetch(const FoundRow& row) const {
        constexpr std::size_t line = 64;
        for (std::size_t from = 0; from < row_bytes_ && from < 8 * line; from += line)
            __builtin_prefetch(row.bytes + from);
    }

    /// Calls function(i, hashed id, found row) for the ids in order. Prefetches memory for the following ids,
    /// so that their cache misses overlap. The function may add rows.
    template <class Function>
    void look_up(std::span<const std::int64_t> ids, const Function& function) const;

    /// Calls function(found row) for each row; the order depends only on the order of additions.
    template <class Function>
    void for_each(const Function& function) const {
        for (std::uint32_t i = 0; i < arenas_.size(); ++i)
            arenas_[i].for_each([&](std::uint32_t number) {
                function(FoundRow{arenas_[i].row(number), {i, number}});
            });
    }

    std::span<const RowArena> arenas() const { return arenas_; }

    /// The set that ids with this hash belong to. Sets get fractions proportional to 2^(i / sets): i / sets
    /// is log2(1 + x) for x uniform in [0, 1), approximated by a parabola with an error of at most 0.01.
    static std::size_t set_of(std::uint64_t hash) {
        const auto x = hash >> 32U;
        const auto bent = (x * ((std::uint64_t{1} << 32U) - x) >> 32U) * bend >> 32U;
        return static_cast<std::size_t>((x + bent) * sets >> 32U);
    }

  private:
    friend class BulkLoad;

    static constexpr std::uint64_t bend = 1477468749;  // 0.344 in units of 2^-32

    // The hash within a set: the lower half suffices, since no set has 2^25 slots.
    static std::uint32_t position_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash); }

    // Matches a slot by the hash bits in its control byte alone, without comparing ids.
    struct Likely {
        std::uint32_t position;
    };

    // A row being inserted into a set, and a row already there that may have the same id; compared later,
    // when both ids have been fetched from memory.
    struct Alike {
        const std::byte* row;
        std::uint32_t position;  // of the row being inserted
        std::uint32_t number;    // number of the row already there
    };

    // A row whose id should be new: it compares unequal to every row, and records candidates with the same id
    // for the caller.
    struct Fresh {
        std::uint32_t position;
        std::uint32_t number;
        std::vector<Alike>* alike;
    };

    struct Hash {
        using is_transparent = void;
        const RowArena* arena;
        std::size_t operator()(std::uint32_t row) const { return slot_hash(arena->id(row)); }
        std::size_t operator()(const HashedId& id) const { return id.hash; }
        std::size_t operator()(const Likely& likely) const { return likely.position; }
        std::size_t operator()(const Fresh& fresh) const { return fresh.position; }
    };

    struct Equal {
        using is_transparent = void;
        const RowArena* arena;
        bool operator()(std::uint32_t a, std::uint32_t b) const { return a == b; }
        bool operator()(std::uint32_t row, const HashedId& id) const { return arena->id(row) == id.id; }
        bool operator()(std::uint32_t /*row*/, const Likely& /*likely*/) const { return true; }
        bool operator()(std::uint32_t row, const Fresh& fresh) const {
            fresh.alike->push_back({arena->row(row), fresh.position, fresh.number});
            return false;
        }
    };

    using Set = absl::flat_hash_set<std::uint32_t, Hash, Equal, SetAllocator<std::uint32_t>>;

    FoundRow found(const Set& set, std::uint32_t number) const {
        const auto* arena = set.hash_function().arena;
        return {arena->row(number), {static_cast<std::uint32_t>(arena - arenas_.data()), number}};
    }

    static void enlarge(Set& set, std::size_t rows);

    // Expected number of rows of a set, when `rows` rows are about to be loaded into an empty index.
    static std::size_t rows_of_set(std::size_t set, std::uint64_t rows);

    /// Ensures room for one more row.
    static void make_room(Set& set) {
        // Abseil fills at most seven eighths.
        if (set.size() == set.capacity() - set.capacity() / 8) enlarge(set, set.size() + 1);
    }

    std::size_t row_bytes_;
    std::vector<RowArena> arenas_;
    std::unique_ptr<SetMemory> memory_;  // for the sets, which hold its address
    std::vector<Set> sets_;
    std::size_t size_ = 0;
};

template <class Function>
void RowIndex::look_up(std::span<const std::int64_t> ids, const Function& function) const {
    constexpr std::size_t ring = 128;
    constexpr std::size_t ahead = 24;  // distance between two pipeline stages
    struct Pending {
        HashedId id{0};
        const Set* set = nullptr;
        FoundRow row;  // candidate by hash bits
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
            const auto likely = at.set->find(Likely{position_of(at.id.hash)});
            at.row = likely == at.set->end() ? FoundRow{} : found(*at.set, *likely);
            if (at.row.bytes != nullptr) prefetch(at.row);
        }
        if (i >= 2 * ahead) {
            const auto& at = pending[(i - 2 * ahead) % ring];
            // If there was no row then, there may be one now: the function adds rows.
            const bool is_it = at.row.bytes != nullptr && RowArena::id_of(at.row.bytes) == at.id.id;
            function(i - 2 * ahead, at.id, is_it ? at.row : find(at.id));
        }
    }
}

}  // namespace dtrain::ps
