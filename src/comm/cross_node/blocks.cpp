// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Blocks that every rank has for every rank: between nodes as messages, within one read from the other's
// memory.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "comm/api/copy_bytes.hpp"
#include "comm/cross_node/across_nodes.hpp"
#include "comm/cross_node/swap.hpp"
#include "comm/node/announced.hpp"
#include "comm/node/reading.hpp"
#include "comm/node/staged.hpp"

namespace dtrain::comm {
namespace {

// Below this length, messages are faster than a wait for the ranks of the node.
constexpr std::size_t shortest_read = std::size_t{64} << 10U;

/// Blocks of equal or given lengths, one after the other.
std::vector<Segment> blocks_of(const Call& call, const std::vector<std::size_t>& counts, int ranks) {
    if (call.operation == Operation::all_to_allv) return segments_of(counts);
    return segments_of(std::vector<std::size_t>(static_cast<std::size_t>(ranks), call.bytes()));
}

bool is_neighbour(const OperationQueue& queue, int rank) {
    return queue.map.node_of[static_cast<std::size_t>(rank)] == queue.map.node;
}

/// Where the blocks of an operation begin, and how long they are.
class Blocks {
  public:
    Blocks(const OperationQueue& queue, const Call& call, std::byte* to)
        : queue_(queue),
          send_(call.send),
          to_(to),
          out_(blocks_of(call, call.send_counts, queue.size)),
          in_(blocks_of(call, call.receive_counts, queue.size)),
          shows_(call.operation == Operation::all_gather) {}

    Outgoing out(int rank) const {
        const auto& block = out_[static_cast<std::size_t>(rank)];
        return {send_ + first_given(rank), block.bytes, rank};
    }
    Incoming in(int rank) const {
        const auto& block = in_[static_cast<std::size_t>(rank)];
        return {to_ + block.first, block.bytes, rank};
    }
    std::size_t first_given(int rank) const {
        return shows_ ? 0 : out_[static_cast<std::size_t>(rank)].first;
    }

    void copy_own() const {
        const auto own = in(queue_.rank);
        copy_bytes(own.data, out(queue_.rank).data, own.bytes);
    }

  private:
    const OperationQueue& queue_;
    const std::byte* send_;
    std::byte* to_;
    std::vector<Segment> out_;
    std::vector<Segment> in_;
    bool shows_;
};

/// Whether the ranks of the node may read each other's blocks: the same on all of them.
bool may_read(const OperationQueue& queue, const Call& call) {
    return queue.board.size() > 1 && queue.other_memory.is_open() &&
           (call.operation == Operation::all_to_allv || call.bytes() >= shortest_read);
}

/// Takes the blocks of the node's other ranks.
void read_neighbours(OperationQueue& queue, const Call& call, const Blocks& blocks, std::uint64_t number) {
    for (int other = 0; other < queue.board.size(); ++other) {
        const int rank = queue.map.neighbours()[static_cast<std::size_t>(other)];
        const auto in = blocks.in(rank);
        if (rank == queue.rank || in.bytes == 0) continue;
        const auto first = call.operation == Operation::all_to_allv
                               ? offset_given(queue, number, other, queue.rank)
                               : blocks.first_given(queue.rank);
        read_announced(queue, other, number, first, {in.data, in.bytes});
    }
}

/// The ranks start with different partners so that all are busy.
std::vector<Swap> swaps_of(const OperationQueue& queue, const Blocks& blocks, bool neighbours_too) {
    std::vector<Swap> swaps;
    for (int distance = 1; distance < queue.size; ++distance) {
        const int next = (queue.rank + distance) % queue.size;
        const int previous = (queue.rank + queue.size - distance) % queue.size;
        Swap swap;
        if (neighbours_too || !is_neighbour(queue, next)) swap.out = blocks.out(next);
        if (neighbours_too || !is_neighbour(queue, previous)) swap.in = blocks.in(previous);
        if (swap.out.bytes > 0 || swap.in.bytes > 0) swaps.push_back(swap);
    }
    return swaps;
}

/// Whether each node has as many ranks, which pass long blocks on.
bool spares_messages(const OperationQueue& queue, const Call& call) {
    const auto& nodes = queue.map.ranks_of;
    const auto ranks = nodes.front().size();
    return ranks > 1 && call.bytes() >= shortest_read &&
           std::ranges::all_of(nodes, [&](const auto& node) { return node.size() == ranks; });
}

/// Each rank gets the blocks of those that have its local rank on the other nodes, and passes them on.
Task gather_by_nodes(OperationQueue& queue, Call call, std::uint64_t number) {
    const auto bytes = call.bytes();
    const auto& nodes = queue.map.ranks_of;
    const auto me = static_cast<std::size_t>(queue.map.node_rank);
    const auto block = [&](std::size_t node, std::size_t local) {
        return call.receive + static_cast<std::size_t>(nodes[node][local]) * bytes;
    };
    const auto own_node = static_cast<std::size_t>(queue.map.node);
    Call shown = call;
    shown.send = call.receive;
    announce_memory(queue, shown, number);
    co_await Waiting{{.what = Wait::For::come, .value = number}};
    agree(queue, shown, number);

    copy_bytes(block(own_node, me), call.send, bytes);
    std::vector<Swap> swaps;
    for (std::size_t distance = 1; distance < nodes.size(); ++distance) {
        const auto next = (own_node + distance) % nodes.size();
        const auto previous = (own_node + nodes.size() - distance) % nodes.size();
        swaps.push_back({{block(own_node, me), bytes, nodes[next][me]},
                         {block(previous, me), bytes, nodes[previous][me]}});
    }
    co_await swap_all(queue, std::move(swaps));
    queue.board.step();
    co_await all_steps(queue);
    for (std::size_t node = 0; node < nodes.size(); ++node) {
        if (!queue.other_memory.is_open()) {
            co_await show_in_pieces(
                queue, block(node, me), bytes, -1,
                [&](const std::vector<const std::byte*>& from, std::size_t first, std::size_t length) {
                    for (std::size_t other = 0; other < from.size(); ++other)
                        if (other != me) copy_bytes(block(node, other) + first, from[other], length);
                });
            continue;
        }
        for (std::size_t other = 0; other < nodes[node].size(); ++other)
            if (other != me)
                read_announced(queue, static_cast<int>(other), number,
                               static_cast<std::size_t>(block(node, other) - call.receive),
                               {block(node, other), bytes});
    }
    queue.board.step();
    co_await all_steps(queue);
}

}  // namespace

Task exchange_blocks(OperationQueue& queue, Call call, std::byte* to, std::uint64_t number) {
    const Blocks blocks(queue, call, to);
    bool reads = may_read(queue, call);
    if (reads) {
        announce_memory(queue, call, number);
        co_await Waiting{{.what = Wait::For::come, .value = number}};
        reads = agree(queue, call, number).way == Way::reads;
    } else {
        queue.board.announce(number, call, std::nullopt, -1);
        co_await Waiting{{.what = Wait::For::turn}};
    }
    blocks.copy_own();
    if (reads) {
        read_neighbours(queue, call, blocks, number);
        queue.board.step();
    }
    co_await swap_all(queue, swaps_of(queue, blocks, !reads));
    if (reads) co_await all_steps(queue);
}

Task all_gather(OperationQueue& queue, Call call, std::uint64_t number) {
    if (spares_messages(queue, call)) return gather_by_nodes(queue, call, number);
    return exchange_blocks(queue, call, call.receive, number);
}

}  // namespace dtrain::comm
