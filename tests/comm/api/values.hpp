// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// What each rank contributes, which every rank can work out for all of them, and what must become of it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <span>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <dtrain/communicator.hpp>

namespace dtrain {

/// Whole numbers so small that their sums are exact in every type, in any order.
template <class T>
std::array<T, 17> small_values() {
    std::array<T, 17> values;
    for (int i = 0; i < 17; ++i) {
        const int small = i - 8;
        if constexpr (std::is_integral_v<T>)
            values[static_cast<std::size_t>(i)] =
                static_cast<T>(std::is_unsigned_v<T> ? small * 29 : small * 1000);
        else
            values[static_cast<std::size_t>(i)] = static_cast<T>(static_cast<float>(small));
    }
    return values;
}

/// Which of the small values a rank has from element `first` on, worked out once; valid until the next call.
inline std::span<const std::uint8_t> choices(int rank, std::size_t count, std::size_t first) {
    thread_local std::map<int, std::vector<std::uint8_t>> known;
    auto& chosen = known[rank];
    for (std::uint64_t i = chosen.size(); i < first + count; ++i)
        chosen.push_back(static_cast<std::uint8_t>(
            ((i * 2654435761U + static_cast<std::uint64_t>(rank) * 40503U) >> 7U) % 17U));
    return std::span(chosen).subspan(first, count);
}

template <class T>
void fill(std::span<T> values, int rank, std::size_t first = 0) {
    const auto small = small_values<T>();
    const auto chosen = choices(rank, values.size(), first);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = small[chosen[i]];
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

/// Elements from `first` on of what the ranks' values_of() are reduced to, by plain serial arithmetic.
template <class T>
std::vector<T> reduced_values(int ranks, std::size_t count, Reduction reduction, std::size_t first = 0) {
    constexpr bool is_float = !std::is_integral_v<T>;
    using Whole = std::conditional_t<std::is_same_v<T, std::uint64_t>, std::uint64_t, std::int64_t>;
    using Wide = std::conditional_t<is_float, double, Whole>;
    std::array<Wide, 17> small;
    std::ranges::transform(small_values<T>(), small.begin(), [](T value) {
        if constexpr (is_float)
            return static_cast<Wide>(static_cast<float>(value));
        else
            return static_cast<Wide>(value);
    });
    std::vector<Wide> results(count);
    for (int rank = 0; rank < ranks; ++rank) {
        const auto chosen = choices(rank, count, first);
        const auto combine = [&](auto&& two) {
            for (std::size_t i = 0; i < count; ++i)
                results[i] = rank == 0 ? small[chosen[i]] : two(results[i], small[chosen[i]]);
        };
        if (reduction == Reduction::min)
            combine([](Wide left, Wide right) { return std::min(left, right); });
        else if (reduction == Reduction::max)
            combine([](Wide left, Wide right) { return std::max(left, right); });
        else if constexpr (!is_float)
            combine([&](Wide left, Wide right) {
                return static_cast<Wide>(combined_bits(static_cast<std::uint64_t>(left),
                                                       static_cast<std::uint64_t>(right), reduction));
            });
        else if (reduction == Reduction::product)
            combine(std::multiplies<>());
        else
            combine(std::plus<>());
    }
    std::vector<T> values(count);
    std::ranges::transform(results, values.begin(), [&](Wide result) {
        if constexpr (std::is_same_v<T, double>)
            return reduction == Reduction::average ? result / ranks : result;
        else if constexpr (is_float) {
            const auto sum = static_cast<float>(result);  // exact, a product too
            return static_cast<T>(reduction == Reduction::average ? sum / static_cast<float>(ranks) : sum);
        } else
            return static_cast<T>(reduction == Reduction::average ? result / static_cast<Wide>(ranks)
                                                                  : result);
    });
    return values;
}

template <class T>
T reduced_value(int ranks, std::size_t i, Reduction reduction) {
    return reduced_values<T>(ranks, 1, reduction, i).front();
}

/// Whether the bits are the same: element by element this would take most of the time of a test.
template <class T>
testing::AssertionResult same_bits(std::span<const T> got, std::span<const T> expected) {
    if (got.size() != expected.size())
        return testing::AssertionFailure() << got.size() << " elements, not " << expected.size();
    if (got.empty() || std::memcmp(got.data(), expected.data(), got.size_bytes()) == 0)
        return testing::AssertionSuccess();
    std::size_t i = 0;
    while (std::memcmp(&got[i], &expected[i], sizeof(T)) == 0) ++i;
    return testing::AssertionFailure() << "element " << i << " of " << got.size() << " differs";
}

}  // namespace dtrain
