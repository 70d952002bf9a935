// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <netdb.h>
#include <string>

#include "base/files.hpp"

namespace dtrain {

/// Those of a host, one or more.
using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

/// Asks the resolver, for TCP. @throws UsageError naming the host when it is not known
Addresses resolved(const std::string& host, int port);

/// Non-blocking and close-on-exec; an invalid descriptor, with errno, when there is none.
FileDescriptor socket_for(const addrinfo& address);

/// The same, listening there. One of IPv6 for all addresses takes IPv4, too.
FileDescriptor listen_on(const addrinfo& address, int waiting_connections);

}  // namespace dtrain
