// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/row_arena.hpp"

#include <algorithm>
#include <bit>
#include <sys/mman.h>
#include <utility>

#include <dtrain/error.hpp>

#include "base/huge_pages.hpp"

namespace dtrain::ps {
namespace {

constexpr std::size_t piece_bytes = 16 * huge_page;  // maximum

// Random access to rows is faster on huge pages. From this number of rows on, huge pages are requested at
// once: a partly used one wastes at most 2 bytes per row. The rows before are on small pages until settle().
constexpr std::uint64_t rows_before_huge_pages = std::uint64_t{1} << 20U;

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // since Linux 6.1 and glibc 2.37
#endif

[[noreturn]] void refuse_more() {
    throw Error("a part of a sparse table has 2^32 rows: use more servers");
}

}  // namespace

RowArena::RowArena(std::size_t row_bytes)
    : row_bytes_(row_bytes),
      piece_shift_(static_cast<unsigned>(std::bit_width(piece_bytes / row_bytes)) - 1),
      piece_mask_((std::uint32_t{1} << piece_shift_) - 1) {}

RowArena::~RowArena() {
    for (auto* piece : pieces_) unmap_pages(piece, row_bytes_ << piece_shift_);
}

RowArena::RowArena(RowArena&& other) noexcept
    : row_bytes_(other.row_bytes_),
      piece_shift_(other.piece_shift_),
      piece_mask_(other.piece_mask_),
      pieces_(std::exchange(other.pieces_, {})),
      used_(std::exchange(other.used_, 0)),
      settled_(std::exchange(other.settled_, 0)),
      free_(std::exchange(other.free_, {})),
      is_free_(std::exchange(other.is_free_, {})) {}

/// @param expected_rows rows that will certainly be added
void RowArena::add_piece(std::uint64_t expected_rows) {
    pieces_.reserve(pieces_.size() + 1);
    const auto used = row_bytes_ << piece_shift_;
    auto* const memory = map_pages(used);
    // The unused end of a piece can be smaller than a page.
    const auto first = reserved();
    const auto sure = first >= rows_before_huge_pages ? used
                      : expected_rows > first         ? std::min(used, (expected_rows - first) * row_bytes_)
                                                      : 0;
    const auto at_once = sure / huge_page * huge_page;
    if (at_once > 0) madvise(memory, at_once, MADV_HUGEPAGE);
    if (const auto bytes = aligned_to<huge_page>(used); at_once < bytes)
        madvise(memory + at_once, bytes - at_once, MADV_NOHUGEPAGE);
    pieces_.push_back(memory);
}

bool RowArena::settle() {
    if (settled_ >= std::min(used_, rows_before_huge_pages)) return false;
    const auto rows_of_piece = std::uint64_t{piece_mask_} + 1;
    const auto piece = settled_ >> piece_shift_;
    const auto begin = aligned_to<huge_page>((settled_ & piece_mask_) * row_bytes_);
    const auto end = begin + huge_page;
    if (end > rows_of_piece * row_bytes_) {  // the unused end of a piece can be smaller than a page
        if (piece + 1 >= pieces_.size()) return false;
        settled_ = (piece + 1) * rows_of_piece;
        return settle();
    }
    const auto needed = piece * rows_of_piece + (end + row_bytes_ - 1) / row_bytes_;
    if (needed > used_) return false;
    // The advice may fail: before Linux 6.1, or if physical memory is fragmented.
    madvise(pieces_[piece] + begin, huge_page, MADV_HUGEPAGE);
    madvise(pieces_[piece] + begin, huge_page, MADV_COLLAPSE);
    settled_ = piece * rows_of_piece + end / row_bytes_;
    return true;
}

std::uint32_t RowArena::add(std::int64_t id) {
    std::uint32_t number = 0;
    if (!free_.empty()) {
        number = free_.back();
        free_.pop_back();
        is_free_.erase(number);
    } else {
        if (used_ == max_rows) refuse_more();
        if (used_ == reserved()) add_piece(0);
        number = static_cast<std::uint32_t>(used_++);
    }
    std::memcpy(row(number), &id, sizeof(id));
    return number;
}

std::uint32_t RowArena::add_many(std::uint64_t count) {
    if (count > max_rows - used_) refuse_more();
    const auto first = used_;
    while (reserved() < used_ + count) add_piece(0);
    used_ += count;
    return static_cast<std::uint32_t>(first);
}

void RowArena::reserve(std::uint64_t rows) {
    if (rows > max_rows) refuse_more();
    while (reserved() < rows) add_piece(rows);
}

void RowArena::give_back(std::uint32_t number) {
    is_free_.insert(number);
    free_.push_back(number);
}

RowSet RowArena::in_use() const {
    RowSet rows;
    rows.insert_first(used_);
    rows.erase_all(is_free_);
    return rows;
}

std::span<const std::byte> RowArena::rows_behind(std::uint32_t number, std::uint64_t count) const {
    const auto left = std::uint64_t{piece_mask_} + 1 - (number & piece_mask_);
    return {row(number), std::min(count, left) * row_bytes_};
}

std::size_t RowArena::bytes() const {
    return used_ * row_bytes_ + pieces_.capacity() * sizeof(std::byte*) +
           free_.capacity() * sizeof(free_[0]) + is_free_.bytes();
}

}  // namespace dtrain::ps
