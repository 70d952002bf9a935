// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "parallel/bucket_plan.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "base/aligned_memory.hpp"

namespace dtrain::parallel {
namespace {

constexpr std::size_t cache_line = 64;

}  // namespace

std::vector<BucketPlan> plan_buckets(std::span<const ArraySize> sizes, std::int64_t bucket_bytes) {
    std::vector<BucketPlan> buckets;
    std::map<DataType, std::size_t> open;  // the bucket of each type that is being filled
    for (auto number = sizes.size(); number-- > 0;) {
        const auto element = sizes[number].element;
        const auto found = open.find(element);
        if (found == open.end() || static_cast<std::int64_t>(buckets[found->second].end) >= bucket_bytes) {
            open[element] = buckets.size();
            buckets.push_back({.element = element, .parameters = {}});
        }
        auto& bucket = buckets[open[element]];
        bucket.parameters.push_back(number);
        bucket.end += sizes[number].bytes();
    }
    std::ranges::sort(buckets, std::greater{}, [](const auto& bucket) { return bucket.parameters.back(); });
    std::size_t begin = 0;
    for (auto& bucket : buckets) {
        bucket.begin = begin;
        bucket.end += begin;
        begin = aligned_to<cache_line>(bucket.end);
    }
    return buckets;
}

}  // namespace dtrain::parallel
