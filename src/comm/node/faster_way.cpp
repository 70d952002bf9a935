// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/faster_way.hpp"

#include <algorithm>
#include <bit>

namespace dtrain::comm {

FasterWay::Length& FasterWay::length(std::size_t bytes) {
    return lengths_[static_cast<std::size_t>(std::bit_width(bytes))];
}

Way FasterWay::next(std::size_t bytes) {
    auto& [begun, min] = length(bytes);
    if (begun < 2 * tries) return static_cast<Way>(begun++ % 2);
    return min[static_cast<std::size_t>(Way::reads)] < min[static_cast<std::size_t>(Way::pieces)]
               ? Way::reads
               : Way::pieces;
}

void FasterWay::took(std::size_t bytes, Way way, std::chrono::duration<double> time) {
    if (bytes == 0) return;
    auto& min = length(bytes).min[static_cast<std::size_t>(way)];
    min = std::min(min, time / static_cast<double>(bytes));
}

}  // namespace dtrain::comm
