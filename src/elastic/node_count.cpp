// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "elastic/node_count.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::elastic {
namespace {

constexpr int max_nodes = 1'000'000;

std::optional<int> count_in(std::string_view text) {
    const auto number = parse_int(trimmed(text));
    return number && *number >= 1 && *number <= max_nodes ? number : std::nullopt;
}

}  // namespace

std::string NodeCount::to_string() const {
    return is_range() ? fmt::format("{}:{}", min, max) : std::to_string(max);
}

NodeCount parse_node_count(std::string_view source, std::string_view text) {
    const auto parts = split(text, ':');
    const auto min = count_in(parts.front());
    const auto max = count_in(parts.back());
    if (parts.size() > 2 || !min || !max || *min > *max)
        throw UsageError(fmt::format("{} {}: write a number of nodes in 1..{}, or MIN:MAX", source,
                                     text.empty() ? "\"\"" : text, max_nodes));
    return {.min = *min, .max = *max};
}

NodeCount scaled(NodeCount count, std::string_view scale) {
    auto digits = trimmed(scale);
    const bool signed_twice = digits.starts_with("+-");
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto more = parse_int(digits);
    if (signed_twice || !more || *more == 0 || *more < -max_nodes || *more > max_nodes)
        throw UsageError(
            fmt::format("--scale {}: write by how many nodes, as +1 or -1", scale.empty() ? "\"\"" : scale));
    const auto max = count.max + *more;
    if (max < 1 || max > max_nodes)
        throw UsageError(fmt::format("--scale {}: the job wants {} nodes, {} is not possible", scale,
                                     count.to_string(), max));
    return {.min = count.is_range() ? std::min(count.min, max) : max, .max = max};
}

}  // namespace dtrain::elastic
