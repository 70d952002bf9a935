// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/cross_node/across_nodes.hpp"

#include <algorithm>
#include <vector>

#include "comm/cross_node/swap.hpp"
#include "comm/mpi/mpi_error.hpp"
#include "comm/node/node_operations.hpp"

namespace dtrain::comm {
namespace {

Waiting come(std::uint64_t number) {
    return {{.what = Wait::For::come, .value = number}};
}

/// Reduces on every node, then between the nodes' first ranks, then broadcasts the result on every node.
Task reduce_everywhere(OperationQueue& queue, const Call& call, const Agreement& agreement,
                       std::uint64_t number) {
    co_await reduce_in_node(queue, call, agreement, number);
    if (queue.map.node_rank == 0) {
        const ReduceLoop loop{call.element, call.reduction, 1};
        if (call.bytes() <= max_doubled)
            co_await reduce_by_doubling(queue, call.receive, call.bytes(), loop);
        else
            co_await reduce_by_ring(queue, call.receive, call.bytes(), loop);
    }
    if (queue.board.size() == 1) co_return;
    queue.board.step();  // only after the first rank has the data that the others take
    co_await all_steps(queue);
    co_await broadcast_in_node(queue, call, agreement, 0);
}

void divide(std::byte* buffer, const Call& call, int ranks) {
    const std::byte* const source = buffer;
    ReduceLoop{call.element, Reduction::average, static_cast<std::size_t>(ranks)}(
        std::span(&source, 1), std::span(&buffer, 1), call.count);
}

Task allreduce(OperationQueue& queue, const Call& call, std::uint64_t number) {
    announce(queue, call, number);
    co_await come(number);
    auto agreement = agree(queue, call, number);
    // Partial results are sent in a wider type without loss, and are divided and rounded only once.
    Call wide = call;
    wide.element = wide_type(call.element, call.reduction);
    if (call.reduction == Reduction::average) wide.reduction = Reduction::sum;
    std::vector<std::byte> buffer;
    if (wide.element != call.element) {
        buffer.resize(wide.bytes());
        convert(call.element, call.receive, wide.element, buffer.data(), call.count);
        wide.send = wide.receive = buffer.data();
        agreement = {};
    }
    co_await reduce_everywhere(queue, wide, agreement, number);
    if (call.reduction == Reduction::average) divide(wide.receive, wide, queue.size);
    if (wide.element != call.element)
        convert(wide.element, buffer.data(), call.element, call.receive, call.count);
    if (call.operation != Operation::reduce_shards) co_return;
    use_shard(queue, call);
    queue.board.step();
    co_await all_steps(queue);
}

/// Adds in rank order, as on one node.
Task reduce_scatter(OperationQueue& queue, const Call& call, std::uint64_t number) {
    std::vector<std::byte> arrived(call.bytes() * static_cast<std::size_t>(queue.size));
    co_await exchange_blocks(queue, call, arrived.data(), number);
    std::vector<const std::byte*> sources;
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(queue.size); ++rank)
        sources.push_back(arrived.data() + rank * call.bytes());
    auto* to = call.receive;
    ReduceLoop{call.element, call.reduction, sources.size()}(sources, std::span(&to, 1), call.count);
}

Task broadcast(OperationQueue& queue, const Call& call) {
    for (std::size_t done = 0; done < call.bytes(); done += max_message) {
        MPI_Request request = MPI_REQUEST_NULL;
        check(MPI_Ibcast(call.receive + done, static_cast<int>(std::min(max_message, call.bytes() - done)),
                         MPI_BYTE, call.peer, queue.communicator, &request),
              "MPI_Ibcast");
        co_await Waiting{{.what = Wait::For::requests, .value = 0, .requests = std::span(&request, 1)}};
    }
}

Task barrier(OperationQueue& queue) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(queue.communicator, &request), "MPI_Ibarrier");
    co_await Waiting{{.what = Wait::For::requests, .value = 0, .requests = std::span(&request, 1)}};
}

}  // namespace

Task across_nodes(OperationQueue& queue, Call call, std::uint64_t number) {
    if (call.operation == Operation::allreduce || call.operation == Operation::reduce_shards) {
        co_await allreduce(queue, call, number);
        co_return;
    }
    switch (call.operation) {
        case Operation::reduce_scatter:
            co_await reduce_scatter(queue, call, number);
            co_return;
        case Operation::all_gather:
            co_await all_gather(queue, call, number);
            co_return;
        case Operation::all_to_all:
        case Operation::all_to_allv:
            co_await exchange_blocks(queue, call, call.receive, number);
            co_return;
        default:
            queue.board.announce(number, call, std::nullopt, -1);
            co_await Waiting{{.what = Wait::For::turn}};
            if (call.operation == Operation::barrier)
                co_await barrier(queue);
            else
                co_await broadcast(queue, call);
    }
}

}  // namespace dtrain::comm
