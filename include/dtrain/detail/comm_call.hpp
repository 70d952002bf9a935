// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <dtrain/data_type.hpp>
#include <dtrain/reduction.hpp>

/// What headers need and programs do not use. It may change in every release.
namespace dtrain::detail {

/// A function of Communicator.
enum class Operation : std::uint8_t {
    barrier,
    allreduce,
    reduce_scatter,
    reduce_shards,
    all_gather,
    broadcast,
    all_to_all,
    all_to_allv,
    send,
    receive,
    nccl_communicator,  ///< NCCL only: creating or destroying a communicator
    receive_any,        ///< receive from whichever rank has sent
    subset,             ///< the listed ranks find each other
};

/// Receives bytes [first, first + sums.size()) of the reduced buffer.
using UseShard = std::function<void(std::size_t first, std::span<std::byte> sums)>;

/// One call of a Communicator, passed to a backend. Operations that only move data count in bytes (uint8).
struct Call {
    Operation operation = Operation::barrier;
    DataType element = DataType::uint8;
    Reduction reduction = Reduction::sum;
    const std::byte* send = nullptr;
    std::byte* receive = nullptr;  ///< also the buffer of in-place operations
    std::size_t count = 0;         ///< elements: of one block if each rank has one, else of the buffer
    int peer = 0;                  ///< rank of root, destination or source
    int tag = 0;                   ///< for send, receive and receive_any
    int* from = nullptr;           ///< receive_any: gets the rank of the sender when it is complete
    std::vector<std::size_t> send_counts = {};     ///< all_to_allv: bytes for each rank
    std::vector<std::size_t> receive_counts = {};  ///< all_to_allv: bytes from each rank
    std::chrono::duration<double> waited{};        ///< for a message, by waits whose time was over
    std::uint64_t ticket = 0;                      ///< of a message, in the log of operations
    UseShard use = {};                             ///< reduce_shards

    std::size_t bytes() const { return count * size_of(element); }
};

}  // namespace dtrain::detail
