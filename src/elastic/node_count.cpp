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

constexpr int most_nodes = 1'000'000;

std::optional<int> count_in(std::string_view text) {
    const auto number = parse_int(trimmed(text));
    return number && *number >= 1 && *number <= most_nodes ? number : std::nullopt;
}

}  // namespace

std::string NodeCount::to_string() const {
    return is_range() ? fmt::format("{}:{}", least, most) : std::to_string(most);
}

NodeCount parse_node_count(std::string_view source, std::string_view text) {
    const auto parts = split(text, ':');
    const auto least = count_in(parts.front());
    const auto most = count_in(parts.back());
    if (parts.size() > 2 || !least || !most || *least > *most)
        throw UsageError(fmt::format("{} {}: write a number of nodes in 1..{}, or MIN:MAX", source,
                                     text.empty() ? "\"\"" : text, most_nodes));
    return {.least = *least, .most = *most};
}

NodeCount scaled(NodeCount count, std::string_view scale) {
    auto digits = trimmed(scale);
    const bool signed_twice = digits.starts_with("+-");
    if (digits.starts_with('+')) digits.remove_prefix(1);
    const auto more = parse_int(digits);
    if (signed_twice || !more || *more == 0 || *more < -most_nodes || *more > most_nodes)
        throw UsageError(
            fmt::format("--scale {}: write by how many nodes, as +1 or -1", scale.empty() ? "\"\"" : scale));
    const auto most = count.most + *more;
    if (most < 1 || most > most_nodes)
        throw UsageError(fmt::format("--scale {}: the job wants {} nodes, {} is not possible", scale,
                                     count.to_string(), most));
    return {.least = count.is_range() ? std::min(count.least, most) : most, .most = most};
}

}  // namespace dtrain::elastic
