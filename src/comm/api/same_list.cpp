// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "comm/api/same_list.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include <fmt/format.h>

#include "base/checksum.hpp"

namespace dtrain::comm {
namespace {

std::uint64_t checksum_of(std::uint64_t start, const std::string& text) {
    return checksum(start, std::as_bytes(std::span(text)));
}

std::uint64_t checksum_of(const std::vector<std::string>& list) {
    std::uint64_t sum = 0;
    for (const auto& entry : list) sum = checksum_of(sum, entry);
    return sum;
}

/// The first rank whose value differs from rank 0's; none: all are the same.
template <class Value>
std::optional<std::size_t> first_other(const std::vector<Value>& by_rank) {
    const auto other =
        std::ranges::find_if(by_rank, [&](const auto& value) { return value != by_rank.front(); });
    if (other == by_rank.end()) return std::nullopt;
    return static_cast<std::size_t>(other - by_rank.begin());
}

}  // namespace

std::optional<std::string> first_difference(const Communicator& communicator,
                                            const std::vector<std::string>& list, std::string_view what) {
    if (communicator.all_have(static_cast<std::int64_t>(checksum_of(list)))) return std::nullopt;
    const auto counts = communicator.all_gather(static_cast<std::int64_t>(list.size()));
    if (const auto other = first_other(counts))
        return fmt::format("rank 0 has {} {} and rank {} has {}", counts.front(), what, *other,
                           counts[*other]);
    for (std::size_t number = 0; number < list.size(); ++number) {
        if (communicator.all_have(static_cast<std::int64_t>(checksum_of(0, list[number])))) continue;
        const auto by_rank = communicator.all_gather(list[number]);
        const auto other = first_other(by_rank).value_or(0);
        return fmt::format(
            "the ranks have {} of different names or sizes or types: number {} is {} on rank 0 and {} on "
            "rank {}",
            what, number, by_rank.front(), by_rank[other], other);
    }
    return std::nullopt;
}

}  // namespace dtrain::comm
