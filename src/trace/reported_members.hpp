// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace dtrain::trace {

/// Group::members of a group of these ranks of the job: empty if they are the first ones, and if they are too
/// many.
inline std::vector<int> reported_members(std::span<const int> ranks) {
    constexpr std::size_t max_members = 4096;
    bool are_the_first = true;
    for (std::size_t index = 0; index < ranks.size(); ++index)
        are_the_first = are_the_first && ranks[index] == static_cast<int>(index);
    if (are_the_first || ranks.size() > max_members) return {};
    return {ranks.begin(), ranks.end()};
}

}  // namespace dtrain::trace
