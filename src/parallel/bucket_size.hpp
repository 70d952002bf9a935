// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include <dtrain/communicator.hpp>

namespace dtrain::parallel {

/// Measured time of an all-reduce of this size.
struct MeasuredSize {
    std::int64_t bytes = 0;
    std::chrono::nanoseconds time{0};
};

/// The smallest size whose throughput is close to the best one: larger buckets would only start later. Pure.
/// @param measured at least one, in ascending order of size
std::int64_t sufficient_size(std::span<const MeasuredSize> measured);

/// How much memory measured_bucket_size() is to be given for buckets of at most `max_bytes`. Pure.
std::size_t bytes_to_measure(std::size_t max_bytes);

/// Times all-reduces of several sizes of elements of this real type, in zeros. All ranks get the same result.
/// Collective.
/// @param memory that the communicator allocated, of bytes_to_measure()
std::int64_t measured_bucket_size(const Communicator& communicator, std::span<std::byte> memory,
                                  DataType element);

}  // namespace dtrain::parallel
