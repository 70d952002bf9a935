// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/listening.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain {

Addresses resolved(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* list = nullptr;
    const int error =
        ::getaddrinfo(host.empty() ? nullptr : host.c_str(), std::to_string(port).c_str(), &hints, &list);
    if (error != 0) throw UsageError(fmt::format("{} is no known host: {}", host, ::gai_strerror(error)));
    return {list, ::freeaddrinfo};
}

FileDescriptor socket_for(const addrinfo& address) {
    return FileDescriptor(
        ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
}

FileDescriptor listen_on(const addrinfo& address, int waiting_connections) {
    auto socket = socket_for(address);
    if (!socket.valid()) return socket;
    const int yes = 1, no = 0;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (address.ai_family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    if (::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 ||
        ::listen(socket.get(), waiting_connections) != 0)
        return {};
    return socket;
}

}  // namespace dtrain
