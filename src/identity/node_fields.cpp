// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "identity/node_fields.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"

namespace dtrain::cluster {
namespace {

constexpr char between_nodes = '|';
constexpr char after_count = '*';

}  // namespace

std::string join_node_fields(const std::vector<std::string>& fields) {
    std::string out;
    for (std::size_t begin = 0; begin < fields.size();) {
        std::size_t end = begin + 1;
        while (end < fields.size() && fields[end] == fields[begin]) ++end;
        if (begin > 0) out += between_nodes;
        const bool needs_count = end - begin > 1 || fields[begin].find(after_count) != std::string::npos;
        if (needs_count) out += fmt::format("{}{}", end - begin, after_count);
        out += fields[begin];
        begin = end;
    }
    return out;
}

std::string node_field(std::string_view name, const std::string& text, int index) {
    int first = 0;
    for (const auto& run : split(text, between_nodes)) {
        const auto star = run.find(after_count);
        const auto count = star == std::string::npos ? 1 : parse_int(run.substr(0, star)).value_or(0);
        if (count < 1)
            throw UsageError(fmt::format("{}={}: '{}' does not begin with a number above 0 before the '{}'",
                                         name, text, run, after_count));
        if (index - first < count) return star == std::string::npos ? run : run.substr(star + 1);
        first += count;
    }
    throw UsageError(
        fmt::format("{}={} has fields for {} nodes, but this is node {}, counted from 0; both "
                    "come from dtrain-launch: unset it when you start dtrain-worker by hand",
                    name, text, first, index));
}

}  // namespace dtrain::cluster
