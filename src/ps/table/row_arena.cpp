// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/row_arena.hpp"

#include <bit>
#include <new>
#include <sys/mman.h>
#include <utility>

#include <dtrain/error.hpp>

namespace dtrain::ps {
namespace {

constexpr std::size_t huge_page = std::size_t{1} << 21U;
constexpr std::size_t piece_bytes = 16 * huge_page;  // at most

// From here on rows lie on huge pages, of which one at most is not full: 2 bytes a row then, and ever fewer.
constexpr std::uint64_t rows_before_huge_pages = std::uint64_t{1} << 20U;

}  // namespace

RowArena::RowArena(std::size_t row_bytes)
    : row_bytes_(row_bytes),
      piece_shift_(static_cast<unsigned>(std::bit_width(piece_bytes / row_bytes)) - 1),
      piece_mask_((std::uint32_t{1} << piece_shift_) - 1) {}

RowArena::~RowArena() {
    for (auto* piece : pieces_) munmap(piece, row_bytes_ << piece_shift_);
}

RowArena::RowArena(RowArena&& other) noexcept
    : row_bytes_(other.row_bytes_),
      piece_shift_(other.piece_shift_),
      piece_mask_(other.piece_mask_),
      pieces_(std::exchange(other.pieces_, {})),
      used_(std::exchange(other.used_, 0)),
      free_(std::exchange(other.free_, {})),
      is_free_(std::exchange(other.is_free_, {})) {}

void RowArena::add_piece() {
    pieces_.reserve(pieces_.size() + 1);
    const auto bytes = row_bytes_ << piece_shift_;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    // Only advice: without it rows are found more slowly, or a small table takes more.
    madvise(memory, bytes, used_ < rows_before_huge_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    pieces_.push_back(static_cast<std::byte*>(memory));
}

std::uint32_t RowArena::add(std::int64_t id) {
    std::uint32_t number = 0;
    if (!free_.empty()) {
        number = free_.back();
        free_.pop_back();
        is_free_[number] = false;
    } else {
        if (used_ == most_rows) throw Error("a part of a sparse table has 2^32 rows: use more servers");
        if (used_ >> piece_shift_ == pieces_.size()) add_piece();
        number = static_cast<std::uint32_t>(used_++);
    }
    std::memcpy(row(number), &id, sizeof(id));
    return number;
}

void RowArena::give_back(std::uint32_t number) {
    if (is_free_.size() <= number) is_free_.resize(number + std::size_t{1});
    free_.push_back(number);
    is_free_[number] = true;
}

std::size_t RowArena::bytes() const {
    return used_ * row_bytes_ + pieces_.capacity() * sizeof(std::byte*) +
           free_.capacity() * sizeof(free_[0]) + is_free_.capacity() / 8;
}

}  // namespace dtrain::ps
