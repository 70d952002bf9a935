// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "parallel/bucket_size.hpp"

#include <algorithm>
#include <vector>

#include <dtrain/element_span.hpp>

#include "parallel/with_real.hpp"

namespace dtrain::parallel {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double nearly = 0.8;
constexpr std::int64_t smallest = 64 << 10;
constexpr std::int64_t largest = 32 << 20;
constexpr int repeats = 3;

double rate_of(const MeasuredSize& measured) {
    return static_cast<double>(measured.bytes) /
           static_cast<double>(std::max<std::int64_t>(measured.time.count(), 1));
}

template <Reducible T>
std::vector<MeasuredSize> measured_sums(const Communicator& communicator, std::span<T> values) {
    std::vector<MeasuredSize> measured;
    const auto max = static_cast<std::int64_t>(values.size_bytes());
    for (auto bytes = smallest; bytes <= max; bytes *= 4) {
        const auto part = values.first(static_cast<std::size_t>(bytes) / sizeof(T));
        communicator.allreduce(part);
        auto fastest = std::chrono::nanoseconds::max();
        for (int repeat = 0; repeat < repeats; ++repeat) {
            communicator.barrier();
            const auto begin = Clock::now();
            communicator.allreduce(part);
            fastest = std::min<std::chrono::nanoseconds>(fastest, Clock::now() - begin);
        }
        measured.push_back(
            {bytes, std::chrono::nanoseconds(communicator.max(std::int64_t{fastest.count()}))});
    }
    return measured;
}

}  // namespace

std::int64_t sufficient_size(std::span<const MeasuredSize> measured) {
    const auto best = rate_of(*std::ranges::max_element(measured, {}, rate_of));
    return std::ranges::find_if(measured, [&](const auto& each) { return rate_of(each) >= nearly * best; })
        ->bytes;
}

std::size_t bytes_to_measure(std::size_t max_bytes) {
    return static_cast<std::size_t>(std::clamp(static_cast<std::int64_t>(max_bytes), smallest, largest));
}

std::int64_t measured_bucket_size(const Communicator& communicator, std::span<std::byte> memory,
                                  DataType element) {
    const ElementSpan elements(element, memory.data(), memory.size() / size_of(element));
    return sufficient_size(
        with_real(element, [&]<class T>() { return measured_sums<T>(communicator, elements.as<T>()); }));
}

}  // namespace dtrain::parallel
