// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "identity/host_name.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cctype>
#include <string>

namespace dtrain::cluster {
namespace {

bool consists_of(std::string_view text, std::string_view others) {
    return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || others.find(c) != std::string_view::npos;
    });
}

bool is_address(int family, std::string_view text) {
    std::array<unsigned char, sizeof(in6_addr)> bytes{};
    return ::inet_pton(family, std::string(text).c_str(), bytes.data()) == 1;
}

bool is_label(std::string_view text) {
    return consists_of(text, "-_") && text.size() <= max_label && text.front() != '-' && text.back() != '-';
}

bool is_user(std::string_view text) {
    return consists_of(text, "._-") && text.front() != '-';
}

}  // namespace

bool is_ipv6_address(std::string_view text) {
    const auto percent = text.find('%');
    if (percent != std::string_view::npos && !consists_of(text.substr(percent + 1), "._-")) return false;
    return consists_of(text.substr(0, percent), ":.") && is_address(AF_INET6, text.substr(0, percent));
}

bool is_host(std::string_view text) {
    if (text.empty() || text.size() > max_host_name) return false;
    if (text.find(':') != std::string_view::npos) return is_ipv6_address(text);
    const bool numbers = std::all_of(text.begin(), text.end(),
                                     [](unsigned char c) { return std::isdigit(c) != 0 || c == '.'; });
    if (numbers && text.find('.') != std::string_view::npos) return is_address(AF_INET, text);
    if (text.ends_with('.')) text.remove_suffix(1);  // of a fully qualified name
    for (;;) {
        const auto dot = text.find('.');
        if (!is_label(text.substr(0, dot))) return false;
        if (dot == std::string_view::npos) return true;
        text.remove_prefix(dot + 1);
    }
}

bool is_host_name(std::string_view text) {
    if (const auto at = text.find('@'); at != std::string_view::npos) {
        if (!is_user(text.substr(0, at))) return false;
        text.remove_prefix(at + 1);
    }
    if (text.starts_with('[') && text.ends_with(']')) return is_ipv6_address(text.substr(1, text.size() - 2));
    return is_host(text);
}

HostAndNumber split_host_and_number(std::string_view text) {
    const auto colon = text.rfind(':');
    const bool numbered =
        colon != std::string_view::npos && colon != 0 && (text.find(':') == colon || text[colon - 1] == ']');
    if (!numbered) return {text, std::nullopt};
    return {text.substr(0, colon), text.substr(colon + 1)};
}

}  // namespace dtrain::cluster
