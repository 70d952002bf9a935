// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "parallel/bucket_plan.hpp"

namespace dtrain::parallel {

std::vector<BucketPlan> plan_buckets(std::span<const std::size_t> sizes, std::int64_t bucket_bytes) {
    std::vector<BucketPlan> buckets;
    std::size_t end = 0;
    for (auto number = sizes.size(); number-- > 0;) {
        const bool full = buckets.empty() || static_cast<std::int64_t>((end - buckets.back().begin) *
                                                                       sizeof(float)) >= bucket_bytes;
        if (full) buckets.push_back({.begin = end});
        end += sizes[number];
        buckets.back().parameters.push_back(number);
        buckets.back().end = end;
    }
    return buckets;
}

}  // namespace dtrain::parallel
