// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/reading.hpp"

#include <algorithm>
#include <limits>
#include <span>

#include "comm/api/copy_bytes.hpp"

namespace dtrain::comm {
namespace {

// What is read from all ranks at a time fits into the second-level cache, with what it is added to.
constexpr std::size_t read_at_once = std::size_t{256} << 10U;
constexpr std::size_t page = 4096;
constexpr auto never = std::numeric_limits<std::uint64_t>::max();

std::size_t part_of_each(const OperationQueue& queue) {
    const auto ranks = static_cast<std::size_t>(queue.board.size());
    return std::max(page, read_at_once / ranks / page * page);
}

/// Reduces at most part_of_each() bytes of what all ranks give. May be done in place.
void reduce_part(OperationQueue& queue, const std::byte* own, Segment part, std::byte* to,
                 std::uint64_t number, const ReduceLoop& loop) {
    const auto ranks = static_cast<std::size_t>(queue.board.size());
    const auto me = static_cast<std::size_t>(queue.board.rank());
    const auto room = part_of_each(queue);
    queue.scratch.resize(std::max(queue.scratch.size(), room * ranks));
    for (std::size_t other = 0; other < ranks; ++other) {
        auto* const taken = queue.scratch.data() + other * room;
        if (other != me)
            read_announced(queue, static_cast<int>(other), number, part.first, {taken, part.bytes});
        queue.sources[other] = other == me ? own : taken;
    }
    loop(queue.sources, std::span(&to, 1), part.bytes / size_of(loop.element));
}

}  // namespace

void read_announced(const OperationQueue& queue, int rank, std::uint64_t number, std::size_t first,
                    std::span<std::byte> to) {
    queue.other_memory.read(rank, queue.board.announcement(rank, number).address + first, to);
}

Task reduce_by_reading(OperationQueue& queue, std::byte* buffer, std::size_t bytes, std::uint64_t number,
                       ReduceLoop loop) {
    const auto& board = queue.board;
    if (board.was_given_up()) co_await Waiting{{.what = Wait::For::steps, .value = never}};
    for (int other = 0; other < board.size(); ++other)
        if (other != board.rank()) queue.other_memory.check_is_there(other);
    const auto part = part_of_each(queue);
    const auto own = shard_of(bytes, board.rank(), board.size());
    for (std::size_t done = 0; done < own.bytes; done += part) {
        const Segment reduced{own.first + done, std::min(part, own.bytes - done)};
        auto* const to = buffer + reduced.first;
        reduce_part(queue, to, reduced, to, number, loop);
        for (int other = 0; other < board.size(); ++other)
            if (other != board.rank())
                queue.other_memory.write(other, board.announcement(other, number).address + reduced.first,
                                         {to, reduced.bytes});
    }
    queue.board.step();
    co_await all_steps(queue);
}

Task reduce_segment_by_reading(OperationQueue& queue, const std::byte* own, Segment segment, std::byte* to,
                               std::uint64_t number, ReduceLoop loop, UseShard reduced) {
    const auto part = part_of_each(queue);
    for (std::size_t done = 0; done < segment.bytes; done += part) {
        const auto length = std::min(part, segment.bytes - done);
        reduce_part(queue, own + done, {segment.first + done, length}, to + done, number, loop);
        if (reduced) reduced(segment.first + done, {to + done, length});
    }
    queue.board.step();
    co_await all_steps(queue);
}

Task take_by_reading(OperationQueue& queue, const std::byte* own, std::vector<Segment> from,
                     std::vector<std::byte*> to, std::uint64_t number) {
    const auto me = static_cast<std::size_t>(queue.board.rank());
    for (std::size_t other = 0; other < from.size(); ++other) {
        const auto& segment = from[other];
        if (other == me)
            copy_bytes(to[me], own, segment.bytes);
        else if (segment.bytes > 0)
            read_announced(queue, static_cast<int>(other), number, segment.first, {to[other], segment.bytes});
    }
    queue.board.step();
    co_await all_steps(queue);
}

}  // namespace dtrain::comm
