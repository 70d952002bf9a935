// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/table/row_set.hpp"

#include <algorithm>
#include <bit>

namespace dtrain::ps {

RowSet::Piece& RowSet::piece_of(std::uint32_t number) {
    const auto piece = number / rows_of_piece;
    if (piece >= pieces_.size()) pieces_.resize(piece + std::size_t{1});
    if (pieces_[piece] == nullptr) pieces_[piece] = std::make_unique<Piece>();
    return *pieces_[piece];
}

void RowSet::insert_first(std::uint64_t count) {
    for (std::uint64_t begin = 0; begin < count; begin += rows_of_piece) {
        auto& piece = piece_of(static_cast<std::uint32_t>(begin));
        const auto rows = std::min<std::uint64_t>(count - begin, rows_of_piece);
        std::fill_n(piece.begin(), rows / bits, ~std::uint64_t{0});
        if (rows % bits != 0) piece[rows / bits] |= (std::uint64_t{1} << (rows % bits)) - 1;
    }
}

void RowSet::insert_all(const RowSet& other) {
    for (std::size_t i = 0; i < other.pieces_.size(); ++i) {
        if (other.pieces_[i] == nullptr) continue;
        auto& piece = piece_of(static_cast<std::uint32_t>(i * rows_of_piece));
        for (std::size_t word = 0; word < words; ++word) piece[word] |= (*other.pieces_[i])[word];
    }
}

void RowSet::erase_all(const RowSet& other) {
    for (std::size_t i = 0; i < std::min(pieces_.size(), other.pieces_.size()); ++i) {
        if (pieces_[i] == nullptr || other.pieces_[i] == nullptr) continue;
        for (std::size_t word = 0; word < words; ++word) (*pieces_[i])[word] &= ~(*other.pieces_[i])[word];
    }
}

void RowSet::keep_only(const RowSet& other) {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
        if (pieces_[i] == nullptr) continue;
        if (i >= other.pieces_.size() || other.pieces_[i] == nullptr)
            pieces_[i].reset();
        else
            for (std::size_t word = 0; word < words; ++word) (*pieces_[i])[word] &= (*other.pieces_[i])[word];
    }
}

std::uint64_t RowSet::size() const {
    std::uint64_t count = 0;
    for (const auto& piece : pieces_)
        if (piece != nullptr)
            for (const auto word : *piece) count += static_cast<std::uint64_t>(std::popcount(word));
    return count;
}

std::size_t RowSet::bytes() const {
    const auto pieces = std::ranges::count_if(pieces_, [](const auto& piece) { return piece != nullptr; });
    return pieces_.capacity() * sizeof(pieces_[0]) + static_cast<std::size_t>(pieces) * sizeof(Piece);
}

RowSet::Run RowSet::next_run(std::uint64_t from) const {
    auto piece = from / rows_of_piece;
    auto word = from / bits % words;
    auto mask = ~std::uint64_t{0} << (from % bits);
    for (; piece < pieces_.size(); ++piece, word = 0, mask = ~std::uint64_t{0}) {
        if (pieces_[piece] == nullptr) continue;
        for (; word < words; ++word, mask = ~std::uint64_t{0}) {
            const auto left = (*pieces_[piece])[word] & mask;
            if (left == 0) continue;
            const auto first = std::countr_zero(left);
            const auto begin = piece * rows_of_piece + word * bits + static_cast<std::uint64_t>(first);
            return {begin, begin + static_cast<std::uint64_t>(std::countr_one(left >> first))};
        }
    }
    return {};
}

}  // namespace dtrain::ps
