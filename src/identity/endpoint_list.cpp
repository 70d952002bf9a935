// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "identity/endpoint_list.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/long_value.hpp"

namespace dtrain::cluster {
namespace {

/// Consecutive ports of one host.
struct Run {
    std::string_view host;  ///< including the colon
    int first = 0;
    int last = 0;

    std::string to_string() const {
        return first == last ? fmt::format("{}{}", host, first) : fmt::format("{}{}-{}", host, first, last);
    }
};

std::string with_ranges(const std::vector<std::string>& endpoints) {
    std::vector<Run> runs;
    for (const auto& endpoint : endpoints) {
        const auto host = std::string_view(endpoint).substr(0, endpoint.rfind(':') + 1);
        const auto port = parse_int(std::string_view(endpoint).substr(host.size())).value_or(0);
        if (!runs.empty() && runs.back().host == host && runs.back().last + 1 == port)
            runs.back().last = port;
        else
            runs.push_back({.host = host, .first = port, .last = port});
    }
    std::vector<std::string> parts;
    for (const auto& run : runs) parts.push_back(run.to_string());
    return join(parts, ",");
}

void append_range(std::vector<std::string>& out, const std::string& part) {
    constexpr int highest_port = 65535;
    const auto colon = part.rfind(':');
    const auto dash = colon == std::string::npos ? colon : part.find('-', colon);
    if (dash == std::string::npos) {
        out.push_back(part);
        return;
    }
    const auto text = std::string_view(part);
    const auto first = parse_int(text.substr(colon + 1, dash - colon - 1));
    const auto last = parse_int(text.substr(dash + 1));
    if (!first || !last || *first < 1 || *last < *first || *last > highest_port)
        throw UsageError(
            fmt::format("\"{}\" is no address with ports; write host:port or host:first-last", part));
    for (int port = *first; port <= *last; ++port)
        out.push_back(part.substr(0, colon + 1) + std::to_string(port));
}

}  // namespace

std::string endpoint_list(const std::vector<std::string>& endpoints) {
    auto plain = join(endpoints, ",");
    return plain.size() < max_value ? plain : with_ranges(endpoints);
}

std::vector<std::string> parse_endpoint_list(std::string_view text) {
    std::vector<std::string> out;
    for (const auto& part : split(text, ',')) append_range(out, part);
    return out;
}

std::string endpoints_file(const std::vector<std::string>& endpoints) {
    return "PADDLE_TRAINER_ENDPOINTS:\n" + join(endpoints, "\n") + "\n";
}

}  // namespace dtrain::cluster
