// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dtrain::cluster {

/// "host", "host:port", "[2001:db8::1]:port" or a bare IPv6 address.
struct Address {
    std::string host;  ///< without brackets
    std::optional<int> port;
    friend bool operator==(const Address&, const Address&) = default;
};

/// @throws UsageError quoting the text if there is no host, or the port is not in 1..65535.
Address parse_address(std::string_view text);

/// Parses a part of a list; the error message also names the option and the whole list.
Address parse_address_of(std::string_view option, std::string_view list, std::string_view part);

/// "host:port", with an IPv6 address in brackets.
/// @throws UsageError if the port is not in 1..65535.
std::string format_address(const std::string& host, int port);

/// The port of "host:port".
/// @throws UsageError if there is none.
int port_of(const std::string& endpoint);

}  // namespace dtrain::cluster
