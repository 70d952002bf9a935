// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "ps/table/row_set.hpp"

namespace dtrain::ps {

/// Rows of one size, each starting with its id, identified by 32-bit numbers that never change. Addresses are
/// reserved in large pieces, of which only used parts are resident; freed rows are reused.
class RowArena {
  public:
    static constexpr std::uint64_t max_rows = std::uint64_t{1} << 32U;

    /// @param row_bytes a multiple of 4, including the id's 8 bytes
    explicit RowArena(std::size_t row_bytes);
    ~RowArena();
    RowArena(RowArena&& other) noexcept;
    RowArena(const RowArena&) = delete;
    RowArena& operator=(const RowArena&) = delete;
    RowArena& operator=(RowArena&&) = delete;

    std::byte* row(std::uint32_t number) const {
        return pieces_[number >> piece_shift_] + (number & piece_mask_) * row_bytes_;
    }

    static std::int64_t id_of(const std::byte* row) {
        std::int64_t id = 0;
        std::memcpy(&id, row, sizeof(id));
        return id;
    }

    std::int64_t id(std::uint32_t number) const { return id_of(row(number)); }

    /// Adds a row for this id; the content after the id is undefined.
    /// @throws Error if all 2^32 numbers are in use, std::bad_alloc if there is no memory
    std::uint32_t add(std::int64_t id);

    /// Adds rows with consecutive numbers and undefined content. @returns the first number
    /// @throws as add()
    std::uint32_t add_many(std::uint64_t count);

    /// Reserves addresses for this total number of rows, without memory yet, on huge pages from the start.
    /// row() may be called while another thread adds rows, as long as they have reserved addresses.
    /// @throws as add()
    void reserve(std::uint64_t rows);

    /// Number of rows with reserved addresses.
    std::uint64_t reserved() const { return pieces_.size() << piece_shift_; }

    void give_back(std::uint32_t number);

    /// Moves the next 2 MiB of full small pages to a huge page, where access is faster. This can take
    /// milliseconds, so it is not done while rows are added. @returns false if there is nothing to do
    bool settle();

    /// Number of rows in use.
    std::size_t size() const { return used_ - free_.size(); }
    RowSet in_use() const;
    bool is_in_use(std::uint32_t number) const { return number < used_ && !is_free_.contains(number); }

    /// All row numbers are below this.
    std::uint64_t numbers() const { return used_; }

    /// Number of freed rows that can be reused.
    std::size_t free_rows() const { return free_.size(); }

    std::size_t row_bytes() const { return row_bytes_; }

    /// The row and those after it in memory: at most `count` >= 1, fewer at the end of a piece.
    std::span<const std::byte> rows_behind(std::uint32_t number, std::uint64_t count) const;

    /// Memory taken by rows, including freed ones.
    std::size_t bytes() const;

    /// Calls function(number) for each row in use, ordered by number. The function may free the row that it
    /// is called for.
    template <class Function>
    void for_each(const Function& function) const {
        for (std::uint64_t number = 0; number < used_; ++number)
            if (!is_free_.contains(static_cast<std::uint32_t>(number)))
                function(static_cast<std::uint32_t>(number));
    }

  private:
    void add_piece(std::uint64_t expected_rows);

    std::size_t row_bytes_;
    unsigned piece_shift_;  // a piece has 2^piece_shift_ rows
    std::uint32_t piece_mask_;
    std::vector<std::byte*> pieces_;
    std::uint64_t used_ = 0;     // number of row numbers used so far, including freed ones
    std::uint64_t settled_ = 0;  // rows below are on huge pages, if the kernel provided them
    std::vector<std::uint32_t> free_;
    RowSet is_free_;
};

}  // namespace dtrain::ps
