// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
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

/// Times all-reduces of several sizes, up to `max_bytes`, of elements of this real type. All ranks get the
/// same result. Collective.
std::int64_t measured_bucket_size(const Communicator& communicator, std::int64_t max_bytes, DataType element);

}  // namespace dtrain::parallel
