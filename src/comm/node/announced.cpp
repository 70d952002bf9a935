// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/announced.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dtrain/element_span.hpp>

#include "trace/rank_ranges.hpp"

namespace dtrain::comm {
namespace {

// Below this length, copying through shared memory is faster than a system call.
constexpr std::size_t shortest_read = std::size_t{64} << 10U;

// Above this length, reducing the data in place is faster than copying them first.
constexpr std::size_t max_copied = 512;

/// The data that a rank contributes to the operation.
std::span<const std::byte> given(const OperationQueue& queue, const Call& call) {
    switch (call.operation) {
        case Operation::reduce_scatter:
        case Operation::all_to_all:
            return {call.send, call.bytes() * static_cast<std::size_t>(queue.size)};
        case Operation::broadcast:
            return {call.receive, call.bytes()};
        default:
            return {call.send, call.bytes()};
    }
}

bool may_be_short(Operation operation) {
    return operation != Operation::reduce_shards && operation != Operation::all_to_allv;
}

bool is_done_in_place(Operation operation) {
    return operation == Operation::allreduce || operation == Operation::reduce_shards ||
           operation == Operation::reduce_scatter || operation == Operation::broadcast;
}

/// What each rank reads of all others, about.
std::size_t bytes_read(const OperationQueue& queue, const Call& call) {
    const auto others = static_cast<std::size_t>(queue.board.size() - 1);
    switch (call.operation) {
        case Operation::reduce_scatter:
        case Operation::all_gather:
        case Operation::all_to_all:
        case Operation::all_to_allv:
            return call.bytes() * others;
        case Operation::allreduce:
        case Operation::reduce_shards:
            return others == 0 ? 0 : call.bytes();
        default:
            return 0;
    }
}

/// Copies where the segments of an all_to_allv begin into a slot; none if there is no room.
std::optional<int> tell_offsets(OperationQueue& queue, const Call& call, std::uint64_t number) {
    auto& board = queue.board;
    if (!queue.other_memory.is_open() ||
        call.send_counts.size() * sizeof(std::size_t) > NodeBoard::slot_bytes)
        return std::nullopt;
    const auto slot = board.take_slot(number);
    if (!slot) return slot;
    std::vector<std::size_t> offsets(call.send_counts.size());
    std::exclusive_scan(call.send_counts.begin(), call.send_counts.end(), offsets.begin(), std::size_t{0});
    std::memcpy(board.slot(board.rank(), *slot), offsets.data(), offsets.size() * sizeof(std::size_t));
    return slot;
}

std::string as_text(const Announcement& said) {
    const auto what = comm::name_of(said.operation);
    switch (said.operation) {
        case Operation::allreduce:
        case Operation::reduce_scatter:
        case Operation::reduce_shards:
            return fmt::format("{} ({}) of {} {}", what, name_of(said.reduction), said.count,
                               to_string(said.element));
        case Operation::broadcast:
            return fmt::format("{} of {} bytes from rank {}", what, said.count, said.peer);
        case Operation::barrier:
        case Operation::all_to_allv:
            return std::string(what);
        default:
            return fmt::format("{} of {} bytes", what, said.count);
    }
}

bool mean_the_same(const Announcement& one, const Announcement& other) {
    const bool same_length = one.operation == Operation::all_to_allv || one.count == other.count;
    return one.operation == other.operation && one.element == other.element &&
           one.reduction == other.reduction && one.peer == other.peer && same_length;
}

/// "rank 2 calls A, ranks 0-1,3 call B": the fewest first, who are more likely to be wrong.
std::string who_calls_what(const OperationQueue& queue, std::uint64_t number) {
    struct Party {
        const Announcement* says;
        std::vector<int> ranks;
    };
    std::vector<Party> parties;
    for (int rank = 0; rank < queue.board.size(); ++rank) {
        const auto& said = queue.board.announcement(rank, number);
        auto party =
            std::ranges::find_if(parties, [&](const auto& one) { return mean_the_same(*one.says, said); });
        if (party == parties.end()) party = parties.insert(party, {&said, {}});
        party->ranks.push_back(queue.map.neighbours()[static_cast<std::size_t>(rank)]);
    }
    std::ranges::stable_sort(parties, {}, [](const auto& party) { return party.ranks.size(); });
    std::string text;
    for (const auto& [says, ranks] : parties)
        text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", trace::named_ranks(ranks),
                            ranks.size() == 1 ? "calls" : "call", as_text(*says));
    return text;
}

}  // namespace

bool chooses_way(const OperationQueue& queue, const Call& call) {
    return queue.board.rank() == 0 && bytes_read(queue, call) >= shortest_read &&
           queue.other_memory.is_open();
}

std::size_t offset_given(const OperationQueue& queue, std::uint64_t number, int rank, int to) {
    const auto& board = queue.board;
    std::size_t offset = 0;
    std::memcpy(&offset,
                board.slot(rank, board.announcement(rank, number).slot) +
                    static_cast<std::size_t>(to) * sizeof(offset),
                sizeof(offset));
    return offset;
}

void announce(OperationQueue& queue, const Call& call, std::uint64_t number) {
    auto& board = queue.board;
    const auto data = given(queue, call);
    std::optional<Window::Position> position;
    if (is_done_in_place(call.operation) && !data.empty()) position = Window::find(data.data(), data.size());
    int slot = -1;
    if (may_be_short(call.operation) && data.size() <= (position ? max_copied : board.slot_limit())) {
        const bool gives =
            !data.empty() && (call.operation != Operation::broadcast || call.peer == queue.rank);
        slot = gives ? board.take_slot(number).value_or(-1) : 0;
        if (gives && slot >= 0) std::memcpy(board.slot(board.rank(), slot), data.data(), data.size());
    }
    if (call.operation == Operation::all_to_allv) slot = tell_offsets(queue, call, number).value_or(-1);
    const bool chooses = !position && chooses_way(queue, call);
    board.announce(number, call, position, slot,
                   chooses ? queue.faster_way.next(call.operation, call.bytes()) : Way::pieces);
}

void announce_memory(OperationQueue& queue, const Call& call, std::uint64_t number) {
    int slot = -1;
    if (call.operation == Operation::all_to_allv) slot = tell_offsets(queue, call, number).value_or(-1);
    queue.board.announce(number, call, std::nullopt, slot, Way::reads);
}

Agreement agree(const OperationQueue& queue, const Call& call, std::uint64_t number) {
    const auto& board = queue.board;
    const auto& first = board.announcement(0, number);
    Agreement agreement{.way = first.way, .is_short = true};
    bool in_window = first.window != 0;
    for (int other = 0; other < board.size(); ++other) {
        const auto& said = board.announcement(other, number);
        if (!mean_the_same(first, said))
            throw Error(
                fmt::format("ranks differ in operation {}: {}", number, who_calls_what(queue, number)));
        agreement.is_short = agreement.is_short && said.slot >= 0;
        in_window = in_window && said.window == first.window && said.offset == first.offset;
    }
    if (call.operation == Operation::all_to_allv && !std::exchange(agreement.is_short, false))
        agreement.way = Way::pieces;  // not all have told their offsets
    if (in_window && !agreement.is_short) {
        const auto data = given(queue, call);
        const auto position = Window::find(data.data(), data.size());
        agreement.window = position->window;
        agreement.offset = position->offset;
    }
    return agreement;
}

std::size_t max_announced(const OperationQueue& queue, std::uint64_t number) {
    std::size_t max = 0;
    for (int other = 0; other < queue.board.size(); ++other)
        max = std::max<std::size_t>(max, queue.board.announcement(other, number).count);
    return max;
}

}  // namespace dtrain::comm
