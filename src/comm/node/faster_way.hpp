// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "comm/api/call.hpp"

namespace dtrain::comm {

/// How the ranks of a node exchange long buffers that are not in shared memory.
enum class Way : std::uint8_t {
    pieces,  ///< every rank copies its data into shared memory, a piece at a time
    reads,   ///< data are read from the other processes by a system call: one copy less
};

/// Finds out which way is faster for an operation of a given length. That depends on processor and kernel:
/// either may be faster by a factor of two. So both are tried, and afterwards the faster one is always used.
class FasterWay {
  public:
    static constexpr int tries = 3;  ///< of each way, per power of two of the length
    /// Of both ways together: not every time is known (took()).
    static constexpr int most_tries = 64;

    /// The way to use now.
    Way next(Operation operation, std::size_t bytes);

    /// Records the time of an operation.
    void took(Operation operation, std::size_t bytes, Way way, std::chrono::duration<double> time);

  private:
    using Time = std::chrono::duration<double>;

    struct Length {
        int begun = 0;
        std::array<int, 2> known{};
        std::array<Time, 2> min{Time::max(), Time::max()};  ///< per byte, by way
    };

    Length& length(Operation operation, std::size_t bytes);

    std::map<std::pair<Operation, int>, Length> lengths_;  ///< by operation and bit_width() of the length
};

}  // namespace dtrain::comm
