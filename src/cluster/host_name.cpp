// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "cluster/host_name.hpp"

#include <algorithm>
#include <cctype>

namespace dtrain::cluster {
namespace {

bool consists_of(std::string_view text, std::string_view others) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || others.find(c) != std::string_view::npos;
    });
}

}  // namespace

bool is_host_name(std::string_view text) {
    if (text.size() > longest_host_name) return false;
    if (const auto at = text.find('@'); at != std::string_view::npos) {
        if (!consists_of(text.substr(0, at), "._-")) return false;
        text.remove_prefix(at + 1);
    }
    const bool bracketed = text.size() > 2 && text.front() == '[' && text.back() == ']';
    if (bracketed) text = text.substr(1, text.size() - 2);
    // One colon alone would separate a number.
    const bool ipv6 = std::count(text.begin(), text.end(), ':') > 1;
    if (bracketed && !ipv6) return false;
    return consists_of(text, ipv6 ? ".:%_-" : "._-");
}

HostAndNumber split_host_and_number(std::string_view text) {
    const auto colon = text.rfind(':');
    const bool numbered =
        colon != std::string_view::npos && colon != 0 && (text.find(':') == colon || text[colon - 1] == ']');
    if (!numbered) return {text, std::nullopt};
    return {text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace dtrain::cluster
