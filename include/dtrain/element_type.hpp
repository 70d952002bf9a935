// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <string>

#include <dtrain/half.hpp>

namespace dtrain {

/// Types of elements that ranks can exchange and reduce, and that checkpoints can contain.
enum class ElementType : std::uint8_t {
    float32,   ///< float
    float64,   ///< double
    float16,   ///< dtrain::float16
    bfloat16,  ///< dtrain::bfloat16
    int32,     ///< std::int32_t
    int64,     ///< std::int64_t
    uint8      ///< std::uint8_t, and std::byte of operations that only move data
};

/// All element types.
inline constexpr std::array element_types{ElementType::float32,  ElementType::float64, ElementType::float16,
                                          ElementType::bfloat16, ElementType::int32,   ElementType::int64,
                                          ElementType::uint8};

/// "float32", "bfloat16", "uint8" ...
std::string to_string(ElementType type);

/// A type whose values can be reduced over ranks: the C++ type of an ElementType.
template <class T>
concept Reducible = std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, float16> ||
    std::same_as<T, bfloat16> || std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
    std::same_as<T, std::uint8_t>;

/// How the ranks' values are combined. Integer sums wrap on overflow; integer averages are rounded towards
/// zero. float16 and bfloat16 are summed in float and rounded once. A minimum or maximum of values that
/// include NaN is the same on every rank, but may or may not be NaN.
enum class Reduction : std::uint8_t {
    sum,      ///< of all ranks' values
    average,  ///< the sum divided by the number of ranks
    min,      ///< the smallest value
    max       ///< the largest value
};

}  // namespace dtrain
