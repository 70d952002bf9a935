// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace dtrain::cluster {

/// Limits of DNS (RFC 1035, 2.3.4).
inline constexpr std::size_t max_host_name = 255;
inline constexpr std::size_t max_label = 63;

/// Whether `text` is an IPv6 address, perhaps with a zone ("fe80::1%eth0"), without brackets.
bool is_ipv6_address(std::string_view text);

/// Whether `text` is a host and nothing else, so that no program takes it for an option: a name as in RFC
/// 1123 (labels of letters, digits and dashes that neither begin nor end with a dash; also underscores, which
/// schedulers allow), an IPv4 or an IPv6 address.
bool is_host(std::string_view text);

/// Like is_host(), for hosts written by people: an IPv6 address with or without brackets, optionally preceded
/// by "user@".
bool is_host_name(std::string_view text);

struct HostAndNumber {
    std::string_view host;
    std::optional<std::string_view> number;  ///< as written; "" in "a:"
};

/// Splits "a:2" and "[fe80::2]:5"; "fe80::1" has several colons and no number.
HostAndNumber split_host_and_number(std::string_view text);

}  // namespace dtrain::cluster
