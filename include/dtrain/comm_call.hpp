// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <dtrain/half.hpp>

namespace dtrain {

/// How the ranks' values are combined. Integer sums wrap on overflow; integer averages are rounded towards
/// zero. float16 and bfloat16 are summed in float and rounded once. A minimum or maximum of values that
/// include NaN is the same on every rank, but may or may not be NaN.
enum class Reduction : std::uint8_t { sum, average, min, max };

namespace comm {

enum class ElementType : std::uint8_t { float32, float64, float16, bfloat16, int32, int64, uint8 };

template <class T>
inline constexpr bool is_reducible =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, float16> ||
    std::same_as<T, bfloat16> || std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
    std::same_as<T, std::uint8_t>;

template <class T>
constexpr ElementType element_type() {
    if constexpr (std::same_as<T, float>) return ElementType::float32;
    if constexpr (std::same_as<T, double>) return ElementType::float64;
    if constexpr (std::same_as<T, float16>) return ElementType::float16;
    if constexpr (std::same_as<T, bfloat16>) return ElementType::bfloat16;
    if constexpr (std::same_as<T, std::int32_t>) return ElementType::int32;
    if constexpr (std::same_as<T, std::int64_t>) return ElementType::int64;
    return ElementType::uint8;
}

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

}  // namespace comm

/// A type whose values can be reduced over ranks.
template <class T>
concept Reducible = comm::is_reducible<T>;

}  // namespace dtrain
