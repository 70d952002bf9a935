// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <dtrain/c_api.h>

#include "capi/element_of.hpp"
#include "capi/guarded.hpp"
#include "capi/session.hpp"
#include "comm/api/backend.hpp"
#include "comm/api/call.hpp"
#include "comm/api/defined_reduction.hpp"

namespace dtrain::capi {
namespace {

using comm::Call;
using comm::Operation;
using Lengths = std::vector<std::size_t>;

std::span<std::byte> bytes_at(void* data, std::size_t bytes) {
    return {static_cast<std::byte*>(data), bytes};
}

std::span<const std::byte> bytes_at(const void* data, std::size_t bytes) {
    return {static_cast<const std::byte*>(data), bytes};
}

std::size_t total(const Lengths& lengths) {
    return std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
}

Lengths none(int ranks) {
    return Lengths(static_cast<std::size_t>(ranks));
}

/// Those that are named, or each the same.
Lengths lengths_of(const std::size_t* named, std::size_t otherwise, int ranks) {
    const auto count = static_cast<std::size_t>(ranks);
    return named != nullptr ? Lengths(named, named + count) : Lengths(count, otherwise);
}

Lengths only_for(int rank, std::size_t bytes, int ranks) {
    auto lengths = none(ranks);
    lengths[static_cast<std::size_t>(rank)] = bytes;
    return lengths;
}

void check_root(const char* operation, int root, int ranks) {
    if (root < 0 || root >= ranks)
        throw UsageError(fmt::format("{} with root {} in a world of {} ranks", operation, root, ranks));
}

/// Runs the call that make(size) describes: waits for it, or leaves it with the caller.
template <class Make>
int one_call(dtrain_comm comm, dtrain_request* request, const Make& make) noexcept {
    return guarded([&] {
        auto& of = session();
        const auto& ranks = of.communicator(comm);
        const auto backend = comm::backend_of(ranks);
        const Call call = make(ranks.size());
        if (request == nullptr) return backend->run(call);
        *request = of.add(comm, backend->start(call));
    });
}

/// The same for what start(communicator) starts: a Request, or several.
template <class Start>
int started(dtrain_comm comm, dtrain_request* request, const Start& start) noexcept {
    return guarded([&] {
        auto& of = session();
        const auto left = of.add(comm, start(of.communicator(comm)));
        if (request == nullptr)
            of.wait(left);
        else
            *request = left;
    });
}

Request exchange(const Communicator& ranks, const void* out, const Lengths& out_bytes, void* in,
                 const Lengths& in_bytes) {
    return ranks.start_all_to_allv<std::byte>(bytes_at(out, total(out_bytes)), out_bytes,
                                              bytes_at(in, total(in_bytes)), in_bytes);
}

/// Each rank's block is broadcast into its part of `all`.
std::vector<Request> gather_everywhere(const Communicator& ranks, const void* mine, const Lengths& lengths,
                                       void* all) {
    auto* destination = static_cast<std::byte*>(all);
    std::vector<Request> blocks;
    for (int rank = 0; rank < ranks.size(); ++rank) {
        const auto bytes = lengths[static_cast<std::size_t>(rank)];
        if (bytes == 0) continue;
        if (rank == ranks.rank() && mine != destination) std::memcpy(destination, mine, bytes);
        blocks.push_back(ranks.start_broadcast(std::span(destination, bytes), rank));
        destination += bytes;
    }
    return blocks;
}

Call reduction(Operation operation, const void* in, void* out, std::size_t count, int type, int how) {
    const Call call{.operation = operation,
                    .element = element_of(type),
                    .reduction = reduction_of(how),
                    .send = static_cast<const std::byte*>(in),
                    .receive = static_cast<std::byte*>(out),
                    .count = count};
    comm::check_reduction(call);
    return call;
}

Call moved(Operation operation, const void* out, void* in, std::size_t bytes) {
    return {.operation = operation,
            .send = static_cast<const std::byte*>(out),
            .receive = static_cast<std::byte*>(in),
            .count = bytes};
}

}  // namespace
}  // namespace dtrain::capi

using dtrain::Communicator;
using dtrain::comm::Operation;
using namespace dtrain::capi;

int dtrain_barrier(dtrain_comm comm, dtrain_request* request) {
    return one_call(comm, request, [](int) { return Call{.operation = Operation::barrier}; });
}

int dtrain_broadcast(dtrain_comm comm, void* buffer, size_t bytes, int root, dtrain_request* request) {
    return one_call(comm, request, [&](int ranks) {
        check_root("broadcast", root, ranks);
        auto call = moved(Operation::broadcast, buffer, buffer, bytes);
        call.peer = root;
        return call;
    });
}

int dtrain_all_reduce(dtrain_comm comm, void* buffer, size_t count, int type, int reduction,
                      dtrain_request* request) {
    return one_call(comm, request, [&](int) {
        return dtrain::capi::reduction(Operation::allreduce, buffer, buffer, count, type, reduction);
    });
}

int dtrain_reduce(dtrain_comm comm, void* buffer, size_t count, int type, int reduction, int root,
                  dtrain_request* request) {
    return one_call(comm, request, [&](int ranks) {
        check_root("reduce", root, ranks);
        return dtrain::capi::reduction(Operation::allreduce, buffer, buffer, count, type, reduction);
    });
}

int dtrain_reduce_scatter(dtrain_comm comm, const void* in, void* out, size_t count, int type, int reduction,
                          dtrain_request* request) {
    return one_call(comm, request, [&](int) {
        return dtrain::capi::reduction(Operation::reduce_scatter, in, out, count, type, reduction);
    });
}

int dtrain_all_gather(dtrain_comm comm, const void* mine, size_t bytes, void* all, dtrain_request* request) {
    return one_call(comm, request, [&](int) { return moved(Operation::all_gather, mine, all, bytes); });
}

int dtrain_all_gather_uneven(dtrain_comm comm, const void* mine, const size_t* bytes_of_ranks, void* all,
                             dtrain_request* request) {
    return started(comm, request, [&](const Communicator& ranks) {
        return gather_everywhere(ranks, mine, lengths_of(bytes_of_ranks, 0, ranks.size()), all);
    });
}

int dtrain_all_to_all(dtrain_comm comm, const void* out, void* in, size_t bytes, dtrain_request* request) {
    return one_call(comm, request, [&](int) { return moved(Operation::all_to_all, out, in, bytes); });
}

int dtrain_all_to_all_uneven(dtrain_comm comm, const void* out, const size_t* out_bytes, void* in,
                             const size_t* in_bytes, dtrain_request* request) {
    return started(comm, request, [&](const Communicator& ranks) {
        return exchange(ranks, out, lengths_of(out_bytes, 0, ranks.size()), in,
                        lengths_of(in_bytes, 0, ranks.size()));
    });
}

int dtrain_gather(dtrain_comm comm, const void* mine, size_t bytes, void* all, const size_t* bytes_of_ranks,
                  int root, dtrain_request* request) {
    return started(comm, request, [&](const Communicator& ranks) {
        const int size = ranks.size();
        check_root("gather", root, size);
        const auto arrives = ranks.rank() == root ? lengths_of(bytes_of_ranks, bytes, size) : none(size);
        return exchange(ranks, mine, only_for(root, bytes, size), all, arrives);
    });
}

int dtrain_scatter(dtrain_comm comm, const void* all, const size_t* bytes_of_ranks, void* mine, size_t bytes,
                   int root, dtrain_request* request) {
    return started(comm, request, [&](const Communicator& ranks) {
        const int size = ranks.size();
        check_root("scatter", root, size);
        const auto leaves = ranks.rank() == root ? lengths_of(bytes_of_ranks, bytes, size) : none(size);
        return exchange(ranks, all, leaves, mine, only_for(root, bytes, size));
    });
}

int dtrain_send(dtrain_comm comm, const void* values, size_t bytes, int to, int tag,
                dtrain_request* request) {
    return started(comm, request, [&](const Communicator& ranks) {
        return ranks.start_send(bytes_at(values, bytes), to, tag);
    });
}

int dtrain_receive(dtrain_comm comm, void* values, size_t bytes, int from, int tag, dtrain_request* request) {
    return started(comm, request, [&](const Communicator& ranks) {
        return ranks.start_receive(bytes_at(values, bytes), from, tag);
    });
}

int dtrain_receive_any(dtrain_comm comm, void* values, size_t bytes, int tag, int* from,
                       dtrain_request* request) {
    return started(comm, request, [&](const Communicator& ranks) {
        return ranks.start_receive_any(bytes_at(values, bytes), *from, tag);
    });
}

int dtrain_test(dtrain_request* request, int* is_complete) {
    return guarded([&] {
        *is_complete = 0;
        if (*request != 0 && !session().test(*request)) return;
        *request = 0;
        *is_complete = 1;
    });
}

int dtrain_wait(dtrain_request* request) {
    return guarded([&] {
        if (const auto ending = std::exchange(*request, 0); ending != 0) session().wait(ending);
    });
}

int dtrain_wait_for(dtrain_request* request, double seconds, int* is_complete) {
    return guarded([&] {
        *is_complete = 0;
        const auto waits_for = std::exchange(*request, 0);
        if (waits_for != 0 && !session().wait_for(waits_for, std::chrono::duration<double>(seconds)))
            *request = waits_for;
        else
            *is_complete = 1;
    });
}
