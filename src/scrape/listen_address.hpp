// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/files.hpp"

namespace dtrain::scrape {

/// Where metrics are served.
struct ListenAddress {
    std::string host = "127.0.0.1";
    int port = 0;  ///< 0: any free port
    friend bool operator==(const ListenAddress&, const ListenAddress&) = default;
};

/// Parses "9400", which is reachable only from this machine, or "HOST:PORT", "[ADDRESS]:PORT".
/// @param option "--metrics-port", for the message
/// @throws UsageError with the text and what it should be
ListenAddress parse_listen_address(std::string_view option, std::string_view text);

/// "127.0.0.1:9400", with an IPv6 address in brackets.
std::string to_string(const ListenAddress& address);

/// A listening socket, non-blocking and close-on-exec.
/// @throws UsageError if the host is unknown or not one of this machine's, or the port is taken; names the
/// holder
FileDescriptor listen_at(const ListenAddress& address, std::string_view option);

}  // namespace dtrain::scrape
