// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "comm/mpi/operation_queue.hpp"

namespace dtrain::comm {

/// Counts in MPI 3 are of type int.
constexpr std::size_t max_message = std::size_t{1} << 30U;

/// Either length may be 0.
struct Outgoing {
    const std::byte* data = nullptr;
    std::size_t bytes = 0;
    int to = 0;
};
struct Incoming {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
    int from = 0;
};

/// Sends and receives simultaneously.
Task swap(OperationQueue& queue, Outgoing out, Incoming in);

/// The same with several ranks, of which a few are served at a time.
struct Swap {
    Outgoing out;
    Incoming in;
};
Task swap_all(OperationQueue& queue, std::vector<Swap> swaps);

}  // namespace dtrain::comm
