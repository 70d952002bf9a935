// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dtrain::ps {

/// A subset of the row numbers of an arena, with one bit per number. Memory is allocated in small chunks when
/// the first number of their range is inserted, so no single insertion takes long.
class RowSet {
  public:
    RowSet() = default;
    RowSet(RowSet&&) noexcept = default;
    RowSet& operator=(RowSet&&) noexcept = default;
    RowSet(const RowSet&) = delete;
    RowSet& operator=(const RowSet&) = delete;
    ~RowSet() = default;

    bool contains(std::uint32_t number) const {
        const auto piece = number / rows_of_piece;
        return piece < pieces_.size() && pieces_[piece] != nullptr &&
               ((*pieces_[piece])[number / bits % words] >> (number % bits) & 1U) != 0;
    }

    void insert(std::uint32_t number) {
        piece_of(number)[number / bits % words] |= std::uint64_t{1} << (number % bits);
    }

    void erase(std::uint32_t number) {
        if (contains(number))
            (*pieces_[number / rows_of_piece])[number / bits % words] &=
                ~(std::uint64_t{1} << (number % bits));
    }

    /// Inserts the numbers 0 to count - 1.
    void insert_first(std::uint64_t count);

    void insert_all(const RowSet& other);
    void erase_all(const RowSet& other);
    void keep_only(const RowSet& other);

    /// Counts the members at each call.
    std::uint64_t size() const;

    std::size_t bytes() const;

    /// Consecutive numbers, all in the set.
    struct Run {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;  ///< equal to begin if there is none
    };

    /// The first run at or after `from`, truncated to at most 64 numbers.
    Run next_run(std::uint64_t from) const;

  private:
    static constexpr std::uint32_t bits = 64;
    static constexpr std::uint32_t words = 1024;
    static constexpr std::uint32_t rows_of_piece = bits * words;
    using Piece = std::array<std::uint64_t, words>;

    Piece& piece_of(std::uint32_t number);

    std::vector<std::unique_ptr<Piece>> pieces_;
};

}  // namespace dtrain::ps
