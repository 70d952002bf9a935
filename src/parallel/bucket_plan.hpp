// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dtrain::parallel {

/// Gradients that are exchanged together: they lie side by side in one block of memory for all buckets.
struct BucketPlan {
    std::vector<std::size_t>
        parameters;         ///< in the order in which backward passes make gradients: the last first
    std::size_t begin = 0;  ///< elements
    std::size_t end = 0;
    friend bool operator==(const BucketPlan&, const BucketPlan&) = default;
};

/// @param sizes of the parameters, in elements
/// @param bucket_bytes a bucket is closed when it has reached this size
std::vector<BucketPlan> plan_buckets(std::span<const std::size_t> sizes, std::int64_t bucket_bytes);

}  // namespace dtrain::parallel
