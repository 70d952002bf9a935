// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// The all-reduce among the nodes' first ranks.
#include <algorithm>
#include <bit>
#include <vector>

#include "comm/cross_node/across_nodes.hpp"
#include "comm/cross_node/swap.hpp"
#include "comm/node/staged.hpp"

namespace dtrain::comm {
namespace {

// Bytes that the ring processes per round: limits the memory for received data.
constexpr std::size_t max_round = std::size_t{64} << 20U;

int first_rank(const OperationQueue& queue, int node) {
    return queue.map.ranks_of[static_cast<std::size_t>(node)].front();
}

/// Adds in node order, so that both partners get the same bits.
void add(std::byte* own, const std::byte* other, bool other_is_first, std::size_t bytes,
         const ReduceLoop& loop) {
    const std::byte* const sources[] = {other_is_first ? other : own, other_is_first ? own : other};
    loop(sources, std::span(&own, 1), bytes / size_of(loop.element));
}

}  // namespace

Task reduce_by_doubling(OperationQueue& queue, std::byte* buffer, std::size_t bytes, ReduceLoop loop) {
    const int nodes = queue.map.nodes();
    const int node = queue.map.node;
    const int twice = static_cast<int>(std::bit_floor(static_cast<unsigned>(nodes)));
    const int paired =
        2 * (nodes - twice);  // the first nodes, which are paired so that a power of two remains
    std::vector<std::byte> arrived(bytes);
    const bool steps_aside = node < paired && node % 2 == 0;
    if (steps_aside) {
        const int partner = first_rank(queue, node + 1);
        co_await swap(queue, {buffer, bytes, partner}, {});
        co_await swap(queue, {}, {buffer, bytes, partner});
        co_return;
    }
    if (node < paired) {
        co_await swap(queue, {}, {arrived.data(), bytes, first_rank(queue, node - 1)});
        add(buffer, arrived.data(), true, bytes, loop);
    }
    const int position = node < paired ? node / 2 : node - paired / 2;
    for (int distance = 1; distance < twice; distance *= 2) {
        const int other = position ^ distance;
        const int partner = first_rank(queue, other < paired / 2 ? 2 * other + 1 : other + paired / 2);
        co_await swap(queue, {buffer, bytes, partner}, {arrived.data(), bytes, partner});
        add(buffer, arrived.data(), other < position, bytes, loop);
    }
    if (node < paired) co_await swap(queue, {buffer, bytes, first_rank(queue, node - 1)}, {});
}

Task reduce_by_ring(OperationQueue& queue, std::byte* buffer, std::size_t bytes, ReduceLoop loop) {
    const int nodes = queue.map.nodes();
    const int node = queue.map.node;
    const int next = first_rank(queue, (node + 1) % nodes);
    const int previous = first_rank(queue, (node + nodes - 1) % nodes);
    std::vector<std::byte> arrived(shard_of(std::min(bytes, max_round), 0, nodes).bytes);
    for (std::size_t first = 0; first < bytes; first += max_round) {
        auto* const round = buffer + first;
        const auto length = std::min(max_round, bytes - first);
        const auto part = [&](int number) { return shard_of(length, (number + 2 * nodes) % nodes, nodes); };
        for (int step = 0; step < nodes - 1; ++step) {
            const auto out = part(node - step);
            const auto in = part(node - step - 1);
            co_await swap(queue, {round + out.first, out.bytes, next}, {arrived.data(), in.bytes, previous});
            add(round + in.first, arrived.data(), true, in.bytes, loop);
        }
        for (int step = 0; step < nodes - 1; ++step) {
            const auto out = part(node + 1 - step);
            const auto in = part(node - step);
            co_await swap(queue, {round + out.first, out.bytes, next},
                          {round + in.first, in.bytes, previous});
        }
    }
}

}  // namespace dtrain::comm
