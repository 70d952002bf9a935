// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// What each rank contributes, which every rank can work out for all of them, and what must become of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include <dtrain/communicator.hpp>

namespace dtrain {

/// Whole numbers so small that their sums are exact in every type, in any order.
template <class T>
T value_of(int rank, std::size_t i) {
    const auto mixed =
        (static_cast<std::uint64_t>(i) * 2654435761U + static_cast<std::uint64_t>(rank) * 40503U) >> 7U;
    const auto small = static_cast<int>(mixed % 17U) - 8;
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(std::is_unsigned_v<T> ? small * 29 : small * 1000);
    return static_cast<T>(static_cast<float>(small));
}

template <class T>
void fill(std::span<T> values, int rank, std::size_t first = 0) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of<T>(rank, first + i);
}

template <class T>
std::vector<T> values_of(int rank, std::size_t count, std::size_t first = 0) {
    std::vector<T> values(count);
    fill(std::span(values), rank, first);
    return values;
}

/// The reductions that a type has.
template <class T>
std::vector<Reduction> reductions_of() {
    std::vector<Reduction> all{Reduction::sum, Reduction::average, Reduction::min, Reduction::max,
                               Reduction::product};
    if constexpr (std::is_integral_v<T>)
        all.insert(all.end(), {Reduction::bit_and, Reduction::bit_or, Reduction::bit_xor});
    return all;
}

/// Two values in arithmetic of 64 bits, whose lower bits are those of any narrower one.
inline std::uint64_t combined_bits(std::uint64_t left, std::uint64_t right, Reduction reduction) {
    switch (reduction) {
        case Reduction::product:
            return left * right;
        case Reduction::bit_and:
            return left & right;
        case Reduction::bit_or:
            return left | right;
        case Reduction::bit_xor:
            return left ^ right;
        default:
            return left + right;
    }
}

/// Element i of what the ranks' values_of() are reduced to, by plain serial arithmetic.
template <class T>
T reduced_value(int ranks, std::size_t i, Reduction reduction) {
    constexpr bool is_float = !std::is_integral_v<T>;
    using Whole = std::conditional_t<std::is_same_v<T, std::uint64_t>, std::uint64_t, std::int64_t>;
    using Wide = std::conditional_t<is_float, double, Whole>;
    const auto wide = [i](int rank) {
        if constexpr (is_float)
            return static_cast<Wide>(static_cast<float>(value_of<T>(rank, i)));
        else
            return static_cast<Wide>(value_of<T>(rank, i));
    };
    Wide result = wide(0);
    for (int rank = 1; rank < ranks; ++rank) {
        const auto value = wide(rank);
        if (reduction == Reduction::min)
            result = std::min(result, value);
        else if (reduction == Reduction::max)
            result = std::max(result, value);
        else if constexpr (!is_float)
            result = static_cast<Wide>(combined_bits(static_cast<std::uint64_t>(result),
                                                     static_cast<std::uint64_t>(value), reduction));
        else if (reduction == Reduction::product)
            result *= value;
        else
            result += value;
    }
    if constexpr (std::is_same_v<T, double>)
        return reduction == Reduction::average ? result / ranks : result;
    else if constexpr (is_float) {
        const auto sum = static_cast<float>(result);  // exact, a product too
        return static_cast<T>(reduction == Reduction::average ? sum / static_cast<float>(ranks) : sum);
    } else
        return static_cast<T>(reduction == Reduction::average ? result / static_cast<Wide>(ranks) : result);
}

}  // namespace dtrain
