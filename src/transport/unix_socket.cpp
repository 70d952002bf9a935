// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transport/unix_socket.hpp"

#include <cerrno>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <system_error>

namespace dtrain::transport {
namespace {

constexpr int waiting_clients = 4096;

[[noreturn]] void cannot_use(const std::string& path) {
    throw std::system_error(errno, std::generic_category(), "cannot use the socket " + path);
}

sockaddr_un address_of(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        cannot_use(path);
    }
    path.copy(address.sun_path, path.size());
    return address;
}

}  // namespace

FileDescriptor listen_at_path(const std::string& path) {
    const auto address = address_of(path);
    FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.valid() ||
        ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(socket.get(), waiting_clients) != 0)
        cannot_use(path);
    return socket;
}

FileDescriptor connect_to_path(const std::string& path, std::chrono::milliseconds limit) {
    const auto address = address_of(path);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
    const timeval time{.tv_sec = seconds.count(),
                       .tv_usec = std::chrono::microseconds(limit - seconds).count()};
    FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.valid() || ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) != 0 ||
        ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        cannot_use(path);
    return socket;
}

}  // namespace dtrain::transport
