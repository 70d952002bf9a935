// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/node/faster_way.hpp"

#include <algorithm>
#include <bit>

namespace dtrain::comm {

FasterWay::Length& FasterWay::length(Operation operation, std::size_t bytes) {
    return lengths_[{operation, static_cast<int>(std::bit_width(bytes))}];
}

Way FasterWay::next(Operation operation, std::size_t bytes) {
    auto& [begun, known, min] = length(operation, bytes);
    if (begun < most_tries && std::ranges::min(known) < tries) return static_cast<Way>(begun++ % 2);
    return min[static_cast<std::size_t>(Way::reads)] < min[static_cast<std::size_t>(Way::pieces)]
               ? Way::reads
               : Way::pieces;
}

void FasterWay::took(Operation operation, std::size_t bytes, Way way, std::chrono::duration<double> time) {
    if (bytes == 0) return;
    auto& of_length = length(operation, bytes);
    const auto index = static_cast<std::size_t>(way);
    ++of_length.known[index];
    of_length.min[index] = std::min(of_length.min[index], time / static_cast<double>(bytes));
}

}  // namespace dtrain::comm
