// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/listening.hpp"

namespace dtrain::transport {
namespace {

constexpr int waiting_connections = 4096;  // agents of a large job connect all at once
constexpr int silence_ms = 5000;
constexpr int probes = 3;
constexpr std::size_t min_idle = 16;
constexpr std::size_t max_idle = 1024;

void set(const FileDescriptor& socket, int level, int option, int value) {
    ::setsockopt(socket.get(), level, option, &value, sizeof value);
}

bool is_loopback(const addrinfo& address) {
    if (address.ai_family == AF_INET)
        return ntohl(reinterpret_cast<const sockaddr_in*>(address.ai_addr)->sin_addr.s_addr) >> 24 == 127;
    return address.ai_family == AF_INET6 &&
           IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(address.ai_addr)->sin6_addr);
}

int result_of_connecting(const FileDescriptor& socket, std::chrono::milliseconds limit) {
    pollfd waiting{socket.get(), POLLOUT, 0};
    if (::poll(&waiting, 1, static_cast<int>(limit.count())) == 0) return ETIMEDOUT;
    int error = 0;
    socklen_t length = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    return error;
}

}  // namespace

FileDescriptor listen_at(const std::string& host, int port) {
    // A hosts file may map this machine's own name to 127.0.1.1, which no other node can reach.
    const auto named = resolved(host, port);
    for (const auto* each = named.get(); each != nullptr; each = each->ai_next) {
        if (is_loopback(*each) && !host.starts_with("127.") && host != "localhost") break;
        auto socket = listen_on(*each, waiting_connections);
        if (socket.valid() || errno == EADDRINUSE) return socket;
    }
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(static_cast<std::uint16_t>(port));
    addrinfo address{};
    address.ai_family = AF_INET6;
    address.ai_socktype = SOCK_STREAM;
    address.ai_addr = reinterpret_cast<sockaddr*>(&any);
    address.ai_addrlen = sizeof any;
    auto socket = listen_on(address, waiting_connections);
    if (socket.valid() || errno == EADDRINUSE) return socket;
    return listen_on(*resolved("0.0.0.0", port), waiting_connections);  // the machine has no IPv6
}

FileDescriptor accept_from(const FileDescriptor& listener) {
    return FileDescriptor(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
}

bool lacks_resources(int error) {
    return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

std::size_t max_idle_connections() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return max_idle;
    return std::clamp<std::size_t>(limit.rlim_cur / 4, min_idle, max_idle);
}

std::variant<FileDescriptor, std::string> connect_to(const std::string& host, int port,
                                                     std::chrono::milliseconds limit) {
    const auto addresses = resolved(host, port);
    int error = 0;
    for (const auto* each = addresses.get(); each != nullptr; each = each->ai_next) {
        auto socket = socket_for(*each);
        if (!socket.valid()) continue;
        error = ::connect(socket.get(), each->ai_addr, each->ai_addrlen) == 0 ? 0 : errno;
        if (error == EINPROGRESS) error = result_of_connecting(socket, limit);
        if (error == 0) return socket;
    }
    return std::string(std::strerror(error));
}

void notice_silence(const FileDescriptor& socket) {
    set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
    set(socket, IPPROTO_TCP, TCP_KEEPCNT, probes);
    set(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, silence_ms);
}

std::string peer_of(const FileDescriptor& socket) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    char text[NI_MAXHOST] = "?";
    if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) == 0)
        ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST);
    constexpr std::string_view mapped = "::ffff:";  // IPv4 address of a dual-stack socket
    std::string out(text);
    return out.starts_with(mapped) ? out.substr(mapped.size()) : out;
}

}  // namespace dtrain::transport
