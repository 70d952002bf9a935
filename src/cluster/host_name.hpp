// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace dtrain::cluster {

/// As in DNS (RFC 1035, 2.3.4).
inline constexpr std::size_t longest_host_name = 255;

/// Whether `text` can be a host: a name, an IPv4 or IPv6 address, that in brackets or not, each perhaps with
/// "user@" before it.
bool is_host_name(std::string_view text);

struct HostAndNumber {
    std::string_view host;
    std::optional<std::string_view> number;  ///< as written; "" in "a:"
};

/// "a:2" and "[fe80::2]:5" in two; "fe80::1" has several colons and no number.
HostAndNumber split_host_and_number(std::string_view text);

}  // namespace dtrain::cluster
