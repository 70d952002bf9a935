// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "parallel/bucket_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/aligned_memory.hpp"

namespace dtrain::parallel {
namespace {

constexpr std::size_t cache_line = 64;

/// A bucket that is being filled.
struct OpenBucket {
    std::size_t number = 0;
    std::size_t read = ExchangedArray::never;  // when the first of its arrays is read
};

std::vector<std::size_t> in_order_of_completion(std::span<const ExchangedArray> arrays) {
    std::vector<std::size_t> numbers(arrays.size());
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    std::ranges::stable_sort(numbers, {}, [&](std::size_t number) { return arrays[number].made; });
    return numbers;
}

}  // namespace

std::vector<BucketPlan> plan_buckets(std::span<const ExchangedArray> arrays, std::int64_t bucket_bytes) {
    std::vector<BucketPlan> buckets;
    std::map<DataType, OpenBucket> open;
    for (const auto number : in_order_of_completion(arrays)) {
        const auto& array = arrays[number];
        const auto found = open.find(array.element);
        const bool is_full = found == open.end() ||
                             static_cast<std::int64_t>(buckets[found->second.number].end) >= bucket_bytes ||
                             found->second.read <= array.made;
        if (is_full) {
            open[array.element] = {.number = buckets.size()};
            buckets.push_back({.element = array.element, .arrays = {}});
        }
        auto& filling = open[array.element];
        filling.read = std::min(filling.read, array.read);
        auto& bucket = buckets[filling.number];
        bucket.arrays.push_back(number);
        bucket.end += array.bytes();
    }
    std::ranges::stable_sort(buckets, {},
                             [&](const BucketPlan& bucket) { return arrays[bucket.arrays.back()].made; });
    std::size_t begin = 0;
    for (auto& bucket : buckets) {
        bucket.begin = begin;
        bucket.end += begin;
        begin = aligned_to<cache_line>(bucket.end);
    }
    return buckets;
}

}  // namespace dtrain::parallel
