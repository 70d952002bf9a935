// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <dtrain/detail/comm_call.hpp>

namespace dtrain::parallel {

/// Type and number of elements that a parameter exchanges.
struct ArraySize {
    DataType element = DataType::float32;
    std::size_t count = 0;  ///< elements

    std::size_t bytes() const { return count * size_of(element); }
};

/// Arrays of one type that are exchanged together, contiguous within one block of memory for all buckets.
struct BucketPlan {
    DataType element = DataType::float32;
    std::vector<std::size_t>
        parameters;         ///< in the order in which backward passes compute gradients: the last one first
    std::size_t begin = 0;  ///< offset in bytes, aligned to a cache line
    std::size_t end = 0;
    friend bool operator==(const BucketPlan&, const BucketPlan&) = default;
};

/// In the order in which backward passes complete them, so that buckets of one type do not wait for one of
/// another type that fills more slowly. @param sizes of the parameters @param bucket_bytes a bucket is closed
/// once it has reached this size
std::vector<BucketPlan> plan_buckets(std::span<const ArraySize> sizes, std::int64_t bucket_bytes);

}  // namespace dtrain::parallel
