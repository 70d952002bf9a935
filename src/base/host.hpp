// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>

namespace dtrain {

/// What this machine calls itself.
std::string host_name();

/// Every name and address of this machine: its interfaces' IPv4 and IPv6 addresses, host_name(), "localhost".
std::set<std::string> own_addresses();

}  // namespace dtrain
