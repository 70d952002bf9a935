// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace dtrain::comm {

/// How the ranks of a node add long buffers that only their owners reach.
enum class Way : std::uint8_t {
    pieces,  ///< all copy theirs into shared memory, a piece at a time
    reads,   ///< the others' are taken from their processes: one copy less, made by the system
};

/// Which way takes less time for sums of so many bytes. That depends on processor and kernel, either way may
/// be the faster one by a factor of two, so both are tried; afterwards it is always the one that took less.
class FasterWay {
  public:
    static constexpr int tries = 3;  ///< of each way, by power of two of the length

    /// The way to take now.
    Way next(std::size_t bytes);

    /// A sum took this long.
    void took(std::size_t bytes, Way way, std::chrono::duration<double> time);

  private:
    using Time = std::chrono::duration<double>;

    struct Length {
        int begun = 0;
        std::array<Time, 2> min{Time::max(), Time::max()};  ///< of a byte, by way
    };

    Length& length(std::size_t bytes);

    std::array<Length, std::numeric_limits<std::size_t>::digits + 1> lengths_;
};

}  // namespace dtrain::comm
