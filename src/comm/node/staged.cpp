// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/staged.hpp"

#include "comm/api/copy_bytes.hpp"

namespace dtrain::comm {
namespace {

constexpr auto piece_bytes = NodeBoard::piece_bytes;

/// Divides a buffer into pieces of the board.
struct Cut {
    std::size_t bytes;
    std::size_t pieces() const { return (bytes + piece_bytes - 1) / piece_bytes; }
    Segment piece(std::size_t number) const {
        const auto first = number * piece_bytes;
        return {first, std::min(piece_bytes, bytes - first)};
    }
};

/// Copies the parts of this piece that the other ranks reduce to where they can read them.
void lay_out(OperationQueue& queue, const std::byte* buffer, Segment piece, std::size_t number) {
    const auto& board = queue.board;
    for (int other = 0; other < board.size(); ++other) {
        if (other == board.rank()) continue;
        const auto shard = shard_of(piece.bytes, other, board.size());
        copy_bytes(board.piece(board.rank(), 0, number) + shard.first, buffer + piece.first + shard.first,
                   shard.bytes);
    }
}

void add_own_shard(OperationQueue& queue, std::byte* buffer, Segment piece, std::size_t number,
                   const ReduceLoop& loop) {
    const auto& board = queue.board;
    const auto shard = shard_of(piece.bytes, board.rank(), board.size());
    if (shard.bytes == 0) return;
    auto* const own = buffer + piece.first + shard.first;
    std::vector<const std::byte*>& sources = queue.sources;
    for (int other = 0; other < board.size(); ++other)
        sources[static_cast<std::size_t>(other)] = board.piece(other, 0, number) + shard.first;
    sources[static_cast<std::size_t>(board.rank())] = own;
    std::byte* const destinations[] = {own, board.piece(board.rank(), 1, number) + shard.first};
    loop(sources, destinations, shard.bytes / size_of(loop.element));
}

void take_shards(OperationQueue& queue, std::byte* buffer, Segment piece, std::size_t number) {
    const auto& board = queue.board;
    for (int other = 0; other < board.size(); ++other) {
        if (other == board.rank()) continue;
        const auto shard = shard_of(piece.bytes, other, board.size());
        copy_bytes(buffer + piece.first + shard.first, board.piece(other, 1, number) + shard.first,
                   shard.bytes);
    }
}

}  // namespace

// A pipeline: each step advances three pieces by one stage, so that there is one wait per piece. A piece's
// memory is reused two steps later, when all ranks have read it.
Task reduce_in_pieces(OperationQueue& queue, std::byte* buffer, std::size_t bytes, ReduceLoop loop) {
    const Cut cut{bytes};
    const auto pieces = cut.pieces();
    co_await all_steps(queue);
    for (std::size_t i = 0; i < pieces + 2; ++i) {
        if (i < pieces) lay_out(queue, buffer, cut.piece(i), i);
        if (i >= 1 && i - 1 < pieces) add_own_shard(queue, buffer, cut.piece(i - 1), i - 1, loop);
        if (i >= 2) take_shards(queue, buffer, cut.piece(i - 2), i - 2);
        queue.board.step();
        if (i + 1 < pieces + 2) co_await all_steps(queue);
    }
}

Task exchange_in_pieces(OperationQueue& queue, const std::byte* buffer, std::vector<Segment> segments,
                        std::size_t max, Arrived arrived) {
    const auto& board = queue.board;
    const auto ranks = static_cast<std::size_t>(board.size());
    const auto me = static_cast<std::size_t>(board.rank());
    const std::size_t part = piece_bytes / ranks / 64 * 64;
    co_await all_steps(queue);
    for (std::size_t first = 0, number = 0; first < max; first += part, ++number) {
        for (std::size_t other = 0; other < ranks; ++other) {
            const auto& segment = segments[other];
            if (other == me || first >= segment.bytes) continue;
            copy_bytes(board.piece(board.rank(), 0, number) + other * part, buffer + segment.first + first,
                       std::min(part, segment.bytes - first));
        }
        queue.board.step();
        co_await all_steps(queue);
        auto& from = queue.sources;
        for (std::size_t other = 0; other < ranks; ++other)
            from[other] = board.piece(static_cast<int>(other), 0, number) + me * part;
        from[me] = buffer + segments[me].first + first;
        arrived(from, first, std::min(part, max - first));
    }
    queue.board.step();
}

Task show_in_pieces(OperationQueue& queue, const std::byte* buffer, std::size_t bytes, int root,
                    Arrived arrived) {
    const auto& board = queue.board;
    const bool shows = root < 0 || root == board.rank();
    const Cut cut{bytes};
    co_await all_steps(queue);
    for (std::size_t number = 0; number < cut.pieces(); ++number) {
        const auto piece = cut.piece(number);
        if (shows) copy_bytes(board.piece(board.rank(), 0, number), buffer + piece.first, piece.bytes);
        queue.board.step();
        co_await all_steps(queue);
        auto& from = queue.sources;
        for (int other = 0; other < board.size(); ++other)
            from[static_cast<std::size_t>(other)] = board.piece(other, 0, number);
        arrived(from, piece.first, piece.bytes);
    }
    queue.board.step();
}

}  // namespace dtrain::comm
