// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>

namespace dtrain {

/// What this machine calls itself.
std::string host_name();

/// Every name and address of this machine: its interfaces' IPv4 and IPv6 addresses, host_name(), "localhost".
std::set<std::string> own_addresses();

/// The address of this machine that packets to `host` go out from; nothing when there is no way there, or no
/// such host.
std::optional<std::string> address_towards(const std::string& host);

}  // namespace dtrain
