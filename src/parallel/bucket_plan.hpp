// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <dtrain/data_type.hpp>

namespace dtrain::parallel {

/// An array that ranks exchange, and when: points in time are numbers in any unit.
struct ExchangedArray {
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    DataType element = DataType::float32;
    std::size_t count = 0;     ///< elements
    std::size_t made = 0;      ///< when it is complete
    std::size_t read = never;  ///< when the result is needed; after the exchange of everything if unknown

    std::size_t bytes() const { return count * size_of(element); }
};

/// Arrays of one type that are exchanged together, contiguous within one block of memory for all buckets.
struct BucketPlan {
    DataType element = DataType::float32;
    std::vector<std::size_t> arrays;  ///< their numbers, in the order in which they are complete
    std::size_t begin = 0;            ///< offset in bytes, aligned to a cache line
    std::size_t end = 0;
    friend bool operator==(const BucketPlan&, const BucketPlan&) = default;
};

/// Buckets in the order in which they are complete, so that those of one type do not wait for one of another
/// type that fills more slowly. A bucket is closed once it has reached `bucket_bytes` (0: with each array),
/// or if one of its arrays is read before the next one is complete. Pure.
/// @param arrays in any order; those that are complete at the same time keep it
std::vector<BucketPlan> plan_buckets(std::span<const ExchangedArray> arrays, std::int64_t bucket_bytes);

}  // namespace dtrain::parallel
