// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/cross_node/swap.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "comm/mpi/mpi_error.hpp"

namespace dtrain::comm {
namespace {

constexpr int tag = 1;
// Enough that no link is idle, and few enough that no rank receives from very many.
constexpr std::size_t swaps_at_once = 4;

int length_after(std::size_t done, std::size_t bytes) {
    return static_cast<int>(std::min(max_message, bytes - std::min(bytes, done)));
}

/// Begins the messages after `done` bytes; MPI_REQUEST_NULL for those that are complete.
std::array<MPI_Request, 2> begin(const OperationQueue& queue, const Swap& swap, std::size_t done) {
    std::array<MPI_Request, 2> requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    const auto& [out, in] = swap;
    if (const int length = length_after(done, in.bytes); length > 0)
        check(MPI_Irecv(in.data + done, length, MPI_BYTE, in.from, tag, queue.communicator, requests.data()),
              "MPI_Irecv");
    if (const int length = length_after(done, out.bytes); length > 0)
        check(MPI_Isend(out.data + done, length, MPI_BYTE, out.to, tag, queue.communicator, &requests[1]),
              "MPI_Isend");
    return requests;
}

std::size_t longest(const Swap& swap) {
    return std::max(swap.out.bytes, swap.in.bytes);
}

}  // namespace

Task swap(OperationQueue& queue, Outgoing out, Incoming in) {
    const Swap both{out, in};
    for (std::size_t done = 0; done < longest(both); done += max_message) {
        auto requests = begin(queue, both, done);
        co_await Waiting{{.what = Wait::For::requests, .value = 0, .requests = requests}};
    }
}

Task swap_all(OperationQueue& queue, std::vector<Swap> swaps) {
    std::vector<MPI_Request> requests;
    for (std::size_t first = 0; first < swaps.size(); first += swaps_at_once) {
        const auto some = std::span(swaps).subspan(first, std::min(swaps_at_once, swaps.size() - first));
        const auto bytes = longest(*std::ranges::max_element(some, {}, longest));
        for (std::size_t done = 0; done < bytes; done += max_message) {
            requests.clear();
            for (const auto& swap : some)
                for (auto* const request : begin(queue, swap, done)) requests.push_back(request);
            co_await Waiting{{.what = Wait::For::requests, .value = 0, .requests = requests}};
        }
    }
}

}  // namespace dtrain::comm
