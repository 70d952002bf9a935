// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node_operations.hpp"

#include <algorithm>
#include <chrono>

#include "comm/copy_bytes.hpp"
#include "comm/reduce_loops.hpp"
#include "comm/staged.hpp"

namespace dtrain::comm {
namespace {

// Sums that are used at once stay in the second-level cache.
constexpr std::size_t used_at_once = std::size_t{64} << 10U;

ReduceLoop loop_of(const Group& group, const Call& call) {
    return {call.element, call.reduction, static_cast<std::size_t>(group.size)};
}

/// Points `sources` to byte `first` of every rank's part of the window.
void aim(Group& group, const Agreement& agreement, std::size_t first) {
    const auto& parts = group.parts_of(*agreement.window);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        group.destinations[i] = parts[i] + *agreement.offset + first;
        group.sources[i] = group.destinations[i];
    }
}

void aim_at_slots(Group& group, std::uint64_t number, std::size_t first = 0) {
    const auto& board = group.board;
    for (int other = 0; other < board.size(); ++other)
        group.sources[static_cast<std::size_t>(other)] =
            board.slot(other, board.announcement(other, number).slot) + first;
}

void reduce_short(Group& group, const Call& call, std::uint64_t number, std::size_t first, std::byte* to) {
    aim_at_slots(group, number, first);
    loop_of(group, call)(group.sources, std::span(&to, 1), call.count);
}

Task use_shares(Group& group, const Call& call, const Agreement& agreement) {
    const auto loop = loop_of(group, call);
    const auto bytes = call.bytes();
    const auto share = share_of(bytes, group.board.rank(), group.board.size());
    if (agreement.offset) {
        for (std::size_t done = 0; done < share.bytes; done += used_at_once) {
            const auto length = std::min(used_at_once, share.bytes - done);
            auto* own = call.receive + share.first + done;
            aim(group, agreement, share.first + done);
            loop(group.sources, std::span(&own, 1), length / bytes_of(call.element));
            call.use(share.first + done, {own, length});
        }
    } else {
        std::vector<Segment> shares;
        for (int other = 0; other < group.board.size(); ++other)
            shares.push_back(share_of(bytes, other, group.board.size()));
        co_await exchange_in_pieces(
            group, call.send, shares, shares.front().bytes,
            [&](const std::vector<const std::byte*>& from, std::size_t first, std::size_t length) {
                if (first >= share.bytes) return;
                length = std::min(length, share.bytes - first);
                auto* own = call.receive + share.first + first;
                loop(from, std::span(&own, 1), length / bytes_of(call.element));
                call.use(share.first + first, {own, length});
            });
    }
    group.board.step();
    co_await all_steps(group);
}

Task scatter(Group& group, const Call& call, const Agreement& agreement) {
    const auto loop = loop_of(group, call);
    const auto bytes = call.bytes();
    if (agreement.offset) {
        auto* to = call.receive;
        aim(group, agreement, bytes * static_cast<std::size_t>(group.board.rank()));
        loop(group.sources, std::span(&to, 1), call.count);
        group.board.step();
        co_await all_steps(group);
        co_return;
    }
    std::vector<Segment> blocks;
    for (std::size_t i = 0; i < group.sources.size(); ++i) blocks.push_back({i * bytes, bytes});
    co_await exchange_in_pieces(
        group, call.send, blocks, bytes,
        [&](const std::vector<const std::byte*>& from, std::size_t first, std::size_t length) {
            auto* to = call.receive + first;
            loop(from, std::span(&to, 1), length / bytes_of(call.element));
        });
}

Task gather(Group& group, const Call& call) {
    const auto bytes = call.bytes();
    co_await show_in_pieces(
        group, call.send, bytes, -1,
        [&](const std::vector<const std::byte*>& from, std::size_t first, std::size_t length) {
            for (std::size_t i = 0; i < from.size(); ++i)
                copy_bytes(call.receive + i * bytes + first, from[i], length);
        });
}

/// Blocks one after the other, with lengths by rank.
std::vector<Segment> segments_of(const std::vector<std::size_t>& counts) {
    std::vector<Segment> segments;
    std::size_t first = 0;
    for (const auto count : counts) {
        segments.push_back({first, count});
        first += count;
    }
    return segments;
}

Task exchange(Group& group, const Call& call, std::size_t max) {
    const auto ranks = group.sources.size();
    const std::vector<std::size_t> same(ranks, call.count);
    const bool is_even = call.operation == Operation::all_to_all;
    const auto out = segments_of(is_even ? same : call.send_counts);
    const auto in = segments_of(is_even ? same : call.receive_counts);
    co_await exchange_in_pieces(
        group, call.send, out, max,
        [&](const std::vector<const std::byte*>& from, std::size_t first, std::size_t length) {
            for (std::size_t i = 0; i < from.size(); ++i) {
                if (first >= in[i].bytes) continue;
                copy_bytes(call.receive + in[i].first + first, from[i],
                           std::min(length, in[i].bytes - first));
            }
        });
}

/// The operation on data that are all in slots.
void finish_short(Group& group, const Call& call, std::uint64_t number) {
    const auto bytes = call.bytes();
    const auto rank = static_cast<std::size_t>(group.board.rank());
    switch (call.operation) {
        case Operation::allreduce:
            return reduce_short(group, call, number, 0, call.receive);
        case Operation::reduce_scatter:
            return reduce_short(group, call, number, rank * bytes, call.receive);
        case Operation::all_gather:
            aim_at_slots(group, number);
            for (std::size_t i = 0; i < group.sources.size(); ++i)
                copy_bytes(call.receive + i * bytes, group.sources[i], bytes);
            return;
        case Operation::all_to_all:
            aim_at_slots(group, number, rank * bytes);
            for (std::size_t i = 0; i < group.sources.size(); ++i)
                copy_bytes(call.receive + i * bytes, group.sources[i], bytes);
            return;
        case Operation::broadcast:
            if (call.peer == group.board.rank()) return;
            return copy_bytes(call.receive,
                              group.board.slot(call.peer, group.board.announcement(call.peer, number).slot),
                              bytes);
        default:
            return;
    }
}

/// Its share, in all ranks' buffers.
void reduce_share(Group& group, const Call& call, const Agreement& agreement) {
    const auto share = share_of(call.bytes(), group.board.rank(), group.board.size());
    aim(group, agreement, share.first);
    loop_of(group, call)(group.sources, group.destinations, share.bytes / bytes_of(call.element));
    group.board.step();
}

/// Buffers that only their owners reach.
Task reduce_the_way(Group& group, const Call& call, Way way, std::uint64_t number) {
    return way == Way::reads
               ? reduce_from_others(group, call.receive, call.bytes(), number, loop_of(group, call))
               : reduce_in_pieces(group, call.receive, call.bytes(), loop_of(group, call));
}

}  // namespace

Task reduce_in_node(Group& group, const Call& call, const Agreement& agreement, std::uint64_t number) {
    if (agreement.is_short) {
        reduce_short(group, call, number, 0, call.receive);
    } else if (agreement.offset) {
        reduce_share(group, call, agreement);
        co_await all_steps(group);
    } else {
        using Clock = std::chrono::steady_clock;
        const bool chooses = chooses_way(group, call);
        const auto begin = chooses ? Clock::now() : Clock::time_point();
        const auto absences = group.absences();
        co_await reduce_the_way(group, call, agreement.way, number);
        if (chooses && absences == group.absences())  // the program waited all the time
            group.faster_way.took(call.bytes(), agreement.way, Clock::now() - begin);
    }
}

Task broadcast_in_node(Group& group, const Call& call, const Agreement& agreement, int root) {
    const bool is_root = root == group.board.rank();
    if (agreement.offset) {
        aim(group, agreement, 0);
        copy_bytes(call.receive, group.sources[static_cast<std::size_t>(root)], call.bytes());
        group.board.step();
        co_await all_steps(group);
        co_return;
    }
    co_await show_in_pieces(
        group, call.receive, call.bytes(), root,
        [&](const std::vector<const std::byte*>& from, std::size_t first, std::size_t length) {
            if (!is_root) copy_bytes(call.receive + first, from[static_cast<std::size_t>(root)], length);
        });
}

void use_share(Group& group, const Call& call) {
    const auto share = share_of(call.bytes(), group.board.rank(), group.board.size());
    if (share.bytes > 0) call.use(share.first, {call.receive + share.first, share.bytes});
}

Task on_one_node(Group& group, Call call, std::uint64_t number) {
    announce(group, call, number);
    co_await Waiting{{.what = Wait::For::come, .value = number}};
    const auto agreement = agree(group, call, number);
    if (call.operation == Operation::allreduce && agreement.offset) {
        reduce_share(group, call, agreement);  // short ones notice that there is one coroutine less
        co_await all_steps(group);
    } else if (call.operation == Operation::allreduce) {
        co_await reduce_in_node(group, call, agreement, number);
    } else if (agreement.is_short) {
        finish_short(group, call, number);
    } else if (call.operation == Operation::reduce_shares) {
        co_await use_shares(group, call, agreement);
    } else if (call.operation == Operation::reduce_scatter) {
        co_await scatter(group, call, agreement);
    } else if (call.operation == Operation::all_gather) {
        co_await gather(group, call);
    } else if (call.operation == Operation::broadcast) {
        co_await broadcast_in_node(group, call, agreement, call.peer);
    } else {
        co_await exchange(group, call, max_announced(group, number));
    }
}

}  // namespace dtrain::comm
