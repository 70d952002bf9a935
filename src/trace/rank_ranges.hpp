// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace dtrain::trace {

/// "0-3,7": ranks in their order, runs of at least `shortest_run` of them by their ends. Also compiled into
/// what is loaded into programs of others: depends on nothing.
inline std::string rank_ranges(std::span<const int> ranks, std::size_t shortest_run = 2) {
    std::string text;
    for (std::size_t first = 0; first < ranks.size();) {
        auto last = first;
        while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
        if (last - first + 1 < shortest_run) last = first;
        if (!text.empty()) text += ",";
        text += std::to_string(ranks[first]);
        if (last > first) text += "-" + std::to_string(ranks[last]);
        first = last + 1;
    }
    return text;
}

/// "rank 2", "ranks 0-3,7".
inline std::string named_ranks(std::span<const int> ranks) {
    return (ranks.size() == 1 ? "rank " : "ranks ") + rank_ranges(ranks);
}

}  // namespace dtrain::trace
