// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <dtrain/element_type.hpp>

/// What headers need and programs do not use. It may change in every release.
namespace dtrain::detail {

/// The ElementType of a C++ type.
template <Reducible T>
constexpr ElementType element_type() {
    if constexpr (std::same_as<T, float>) return ElementType::float32;
    if constexpr (std::same_as<T, double>) return ElementType::float64;
    if constexpr (std::same_as<T, float16>) return ElementType::float16;
    if constexpr (std::same_as<T, bfloat16>) return ElementType::bfloat16;
    if constexpr (std::same_as<T, std::int32_t>) return ElementType::int32;
    if constexpr (std::same_as<T, std::int64_t>) return ElementType::int64;
    return ElementType::uint8;
}

/// Bytes of one element.
constexpr std::size_t bytes_of(ElementType type) {
    switch (type) {
        case ElementType::float64:
        case ElementType::int64:
            return 8;
        case ElementType::float32:
        case ElementType::int32:
            return 4;
        case ElementType::float16:
        case ElementType::bfloat16:
            return 2;
        case ElementType::uint8:
            return 1;
    }
    return 1;
}

/// A function of Communicator.
enum class Operation : std::uint8_t {
    barrier,
    allreduce,
    reduce_scatter,
    reduce_shares,
    all_gather,
    broadcast,
    all_to_all,
    all_to_allv,
    send,
    receive,
    nccl_communicator,  ///< NCCL only: creating or destroying a communicator
};

/// Receives bytes [first, first + sums.size()) of the reduced buffer.
using UseShare = std::function<void(std::size_t first, std::span<std::byte> sums)>;

/// One call of a Communicator, passed to a backend. Operations that only move data count in bytes (uint8).
struct Call {
    Operation operation = Operation::barrier;
    ElementType element = ElementType::uint8;
    Reduction reduction = Reduction::sum;
    const std::byte* send = nullptr;
    std::byte* receive = nullptr;  ///< also the buffer of in-place operations
    std::size_t count = 0;         ///< elements: of one block if each rank has one, else of the buffer
    int peer = 0;                  ///< rank of root, destination or source
    int tag = 0;                   ///< for send and receive
    std::vector<std::size_t> send_counts = {};     ///< all_to_allv: bytes for each rank
    std::vector<std::size_t> receive_counts = {};  ///< all_to_allv: bytes from each rank
    UseShare use = {};                             ///< reduce_shares

    std::size_t bytes() const { return count * bytes_of(element); }
};

}  // namespace dtrain::detail
