// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/node_operations.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include "comm/api/copy_bytes.hpp"
#include "comm/node/reading.hpp"
#include "comm/node/reduce_loops.hpp"
#include "comm/node/staged.hpp"

namespace dtrain::comm {
namespace {

// A result that is used at once stays in the second-level cache.
constexpr std::size_t used_at_once = std::size_t{64} << 10U;

ReduceLoop loop_of(const OperationQueue& queue, const Call& call) {
    return {call.element, call.reduction, static_cast<std::size_t>(queue.size)};
}

/// Points `sources` to byte `first` of every rank's part of the window.
void aim(OperationQueue& queue, const Agreement& agreement, std::size_t first) {
    const auto& parts = queue.parts_of(*agreement.window);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        queue.destinations[i] = parts[i] + *agreement.offset + first;
        queue.sources[i] = queue.destinations[i];
    }
}

void aim_at_slots(OperationQueue& queue, std::uint64_t number, std::size_t first = 0) {
    const auto& board = queue.board;
    for (int other = 0; other < board.size(); ++other)
        queue.sources[static_cast<std::size_t>(other)] =
            board.slot(other, board.announcement(other, number).slot) + first;
}

void reduce_short(OperationQueue& queue, const Call& call, std::uint64_t number, std::size_t first,
                  std::byte* to) {
    aim_at_slots(queue, number, first);
    loop_of(queue, call)(queue.sources, std::span(&to, 1), call.count);
}

Task use_shards(OperationQueue& queue, const Call& call, const Agreement& agreement, std::uint64_t number) {
    const auto loop = loop_of(queue, call);
    const auto bytes = call.bytes();
    const auto shard = shard_of(bytes, queue.board.rank(), queue.board.size());
    if (!agreement.offset && agreement.way == Way::reads) {
        co_await reduce_segment_by_reading(queue, call.send + shard.first, shard, call.receive + shard.first,
                                           number, loop, call.use);
        co_return;
    }
    if (agreement.offset) {
        for (std::size_t done = 0; done < shard.bytes; done += used_at_once) {
            const auto length = std::min(used_at_once, shard.bytes - done);
            auto* own = call.receive + shard.first + done;
            aim(queue, agreement, shard.first + done);
            loop(queue.sources, std::span(&own, 1), length / size_of(call.element));
            call.use(shard.first + done, {own, length});
        }
    } else {
        std::vector<Segment> shards;
        for (int other = 0; other < queue.board.size(); ++other)
            shards.push_back(shard_of(bytes, other, queue.board.size()));
        co_await exchange_in_pieces(
            queue, call.send, shards, shards.front().bytes,
            [&](const std::vector<const std::byte*>& from, std::size_t first, std::size_t length) {
                if (first >= shard.bytes) return;
                length = std::min(length, shard.bytes - first);
                auto* own = call.receive + shard.first + first;
                loop(from, std::span(&own, 1), length / size_of(call.element));
                call.use(shard.first + first, {own, length});
            });
    }
    queue.board.step();
    co_await all_steps(queue);
}

Task scatter(OperationQueue& queue, const Call& call, const Agreement& agreement, std::uint64_t number) {
    const auto loop = loop_of(queue, call);
    const auto bytes = call.bytes();
    const auto own = bytes * static_cast<std::size_t>(queue.board.rank());
    if (agreement.offset) {
        auto* to = call.receive;
        aim(queue, agreement, own);
        loop(queue.sources, std::span(&to, 1), call.count);
        queue.board.step();
        co_await all_steps(queue);
        co_return;
    }
    if (agreement.way == Way::reads) {
        co_await reduce_segment_by_reading(queue, call.send + own, {own, bytes}, call.receive, number, loop,
                                           {});
        co_return;
    }
    std::vector<Segment> blocks;
    for (std::size_t i = 0; i < queue.sources.size(); ++i) blocks.push_back({i * bytes, bytes});
    co_await exchange_in_pieces(
        queue, call.send, blocks, bytes,
        [&](const std::vector<const std::byte*>& from, std::size_t first, std::size_t length) {
            auto* to = call.receive + first;
            loop(from, std::span(&to, 1), length / size_of(call.element));
        });
}

Task gather(OperationQueue& queue, const Call& call, const Agreement& agreement, std::uint64_t number) {
    const auto bytes = call.bytes();
    if (agreement.way == Way::reads) {
        std::vector<std::byte*> to;
        for (std::size_t i = 0; i < queue.sources.size(); ++i) to.push_back(call.receive + i * bytes);
        co_await take_by_reading(queue, call.send, std::vector<Segment>(to.size(), {0, bytes}), to, number);
        co_return;
    }
    co_await show_in_pieces(
        queue, call.send, bytes, -1,
        [&](const std::vector<const std::byte*>& from, std::size_t first, std::size_t length) {
            for (std::size_t i = 0; i < from.size(); ++i)
                copy_bytes(call.receive + i * bytes + first, from[i], length);
        });
}

Task exchange(OperationQueue& queue, const Call& call, const Agreement& agreement, std::uint64_t number) {
    const auto ranks = queue.sources.size();
    const std::vector<std::size_t> same(ranks, call.count);
    const bool is_even = call.operation == Operation::all_to_all;
    const auto out = segments_of(is_even ? same : call.send_counts);
    const auto in = segments_of(is_even ? same : call.receive_counts);
    if (agreement.way == Way::reads) {
        const int me = queue.board.rank();
        std::vector<Segment> from;
        std::vector<std::byte*> to;
        for (std::size_t i = 0; i < ranks; ++i) {
            const auto first = is_even ? out[me].first : offset_given(queue, number, static_cast<int>(i), me);
            from.push_back({first, in[i].bytes});
            to.push_back(call.receive + in[i].first);
        }
        co_await take_by_reading(queue, call.send + out[me].first, from, to, number);
        co_return;
    }
    co_await exchange_in_pieces(
        queue, call.send, out, max_announced(queue, number),
        [&](const std::vector<const std::byte*>& from, std::size_t first, std::size_t length) {
            for (std::size_t i = 0; i < from.size(); ++i) {
                if (first >= in[i].bytes) continue;
                copy_bytes(call.receive + in[i].first + first, from[i],
                           std::min(length, in[i].bytes - first));
            }
        });
}

/// The operation if all data are in slots.
void finish_short(OperationQueue& queue, const Call& call, std::uint64_t number) {
    const auto bytes = call.bytes();
    const auto rank = static_cast<std::size_t>(queue.board.rank());
    switch (call.operation) {
        case Operation::allreduce:
            return reduce_short(queue, call, number, 0, call.receive);
        case Operation::reduce_scatter:
            return reduce_short(queue, call, number, rank * bytes, call.receive);
        case Operation::all_gather:
            aim_at_slots(queue, number);
            for (std::size_t i = 0; i < queue.sources.size(); ++i)
                copy_bytes(call.receive + i * bytes, queue.sources[i], bytes);
            return;
        case Operation::all_to_all:
            aim_at_slots(queue, number, rank * bytes);
            for (std::size_t i = 0; i < queue.sources.size(); ++i)
                copy_bytes(call.receive + i * bytes, queue.sources[i], bytes);
            return;
        case Operation::broadcast:
            if (call.peer == queue.board.rank()) return;
            return copy_bytes(call.receive,
                              queue.board.slot(call.peer, queue.board.announcement(call.peer, number).slot),
                              bytes);
        default:
            return;
    }
}

/// Reduces this rank's shard, in all ranks' buffers.
void reduce_shard(OperationQueue& queue, const Call& call, const Agreement& agreement) {
    const auto shard = shard_of(call.bytes(), queue.board.rank(), queue.board.size());
    aim(queue, agreement, shard.first);
    loop_of(queue, call)(queue.sources, queue.destinations, shard.bytes / size_of(call.element));
    queue.board.step();
}

/// The time of a long operation, for the rank that chooses the way.
class Trial {
  public:
    Trial(OperationQueue& queue, const Call& call, const Agreement& agreement)
        : queue_(queue), way_(agreement.way) {
        if (agreement.is_short || agreement.offset || !chooses_way(queue, call)) return;
        begin_ = Clock::now();
        absences_ = queue.absences();
    }

    void end(const Call& call) const {
        if (begin_ && absences_ == queue_.absences())  // the program waited all the time
            queue_.faster_way.took(call.operation, call.bytes(), way_, Clock::now() - *begin_);
    }

  private:
    using Clock = std::chrono::steady_clock;

    OperationQueue& queue_;
    Way way_;
    std::optional<Clock::time_point> begin_;
    std::uint64_t absences_ = 0;
};

/// The operation if the data are too long for slots.
Task long_on_one_node(OperationQueue& queue, const Call& call, const Agreement& agreement,
                      std::uint64_t number) {
    const Trial trial(queue, call, agreement);
    switch (call.operation) {
        case Operation::reduce_shards:
            co_await use_shards(queue, call, agreement, number);
            break;
        case Operation::reduce_scatter:
            co_await scatter(queue, call, agreement, number);
            break;
        case Operation::all_gather:
            co_await gather(queue, call, agreement, number);
            break;
        case Operation::broadcast:
            co_await broadcast_in_node(queue, call, agreement, call.peer);
            break;
        default:
            co_await exchange(queue, call, agreement, number);
    }
    trial.end(call);
}

}  // namespace

Task reduce_in_node(OperationQueue& queue, const Call& call, const Agreement& agreement,
                    std::uint64_t number) {
    if (agreement.is_short) {
        reduce_short(queue, call, number, 0, call.receive);
    } else if (agreement.offset) {
        reduce_shard(queue, call, agreement);
        co_await all_steps(queue);
    } else {
        const Trial trial(queue, call, agreement);
        if (agreement.way == Way::reads)
            co_await reduce_by_reading(queue, call.receive, call.bytes(), number, loop_of(queue, call));
        else
            co_await reduce_in_pieces(queue, call.receive, call.bytes(), loop_of(queue, call));
        trial.end(call);
    }
}

Task broadcast_in_node(OperationQueue& queue, const Call& call, const Agreement& agreement, int root) {
    const bool is_root = root == queue.board.rank();
    if (agreement.offset) {
        aim(queue, agreement, 0);
        copy_bytes(call.receive, queue.sources[static_cast<std::size_t>(root)], call.bytes());
        queue.board.step();
        co_await all_steps(queue);
        co_return;
    }
    co_await show_in_pieces(
        queue, call.receive, call.bytes(), root,
        [&](const std::vector<const std::byte*>& from, std::size_t first, std::size_t length) {
            if (!is_root) copy_bytes(call.receive + first, from[static_cast<std::size_t>(root)], length);
        });
}

void use_shard(OperationQueue& queue, const Call& call) {
    const auto shard = shard_of(call.bytes(), queue.board.rank(), queue.board.size());
    if (shard.bytes > 0) call.use(shard.first, {call.receive + shard.first, shard.bytes});
}

Task on_one_node(OperationQueue& queue, Call call, std::uint64_t number) {
    announce(queue, call, number);
    co_await Waiting{{.what = Wait::For::come, .value = number}};
    const auto agreement = agree(queue, call, number);
    if (call.operation == Operation::allreduce && agreement.offset) {
        reduce_shard(queue, call, agreement);  // one coroutine less, which is measurable for short operations
        co_await all_steps(queue);
    } else if (call.operation == Operation::allreduce) {
        co_await reduce_in_node(queue, call, agreement, number);
    } else if (agreement.is_short) {
        finish_short(queue, call, number);
    } else {
        co_await long_on_one_node(queue, call, agreement, number);
    }
}

}  // namespace dtrain::comm
