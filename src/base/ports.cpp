// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/ports.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <netinet/in.h>
#include <random>
#include <sstream>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/process_tree.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

constexpr const char* tcp_state_listen = "0A";

/// A socket bound to the port on all addresses (0: any port), or an invalid descriptor with errno set.
/// Listening makes the claim exclusive; SO_REUSEADDR only ignores recently closed connections.
FileDescriptor claim(int port) {
    FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket.valid()) return socket;
    const int yes = 1;
    ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_ANY);
    if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(socket.get(), 1) != 0)
        return {};
    return socket;
}

/// The inode of the socket that listens on the port, from /proc/net/tcp{,6}; "" when none does.
std::string listening_inode(int port) {
    for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
        std::ifstream in(table);
        std::string line;
        std::getline(in, line);
        while (std::getline(in, line)) {
            std::istringstream fields(line);
            std::string slot, local, remote, state, skip, inode;
            fields >> slot >> local >> remote >> state >> skip >> skip >> skip >> skip >> skip >> inode;
            const auto colon = local.rfind(':');
            if (state == tcp_state_listen && colon != std::string::npos &&
                std::stoi(local.substr(colon + 1), nullptr, 16) == port)
                return inode;
        }
    }
    return "";
}

}  // namespace

int port_of(const FileDescriptor& listener) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &length);
    return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                               : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

PortTaken::PortTaken(int port, const std::string& why, const std::string& holder,
                     const std::string& what_to_do)
    : UsageError(fmt::format("TCP port {} cannot be used: {}{}; {}", port, why,
                             holder.empty() ? "" : ", held by " + holder, what_to_do)),
      port_(port),
      why_(why),
      holder_(holder) {}

void HeldPorts::add(int port, FileDescriptor socket) {
    numbers_.push_back(port);
    sockets_.push_back(std::move(socket));
}

HeldPorts HeldPorts::any(int count) {
    HeldPorts held;
    const int first = static_cast<int>(std::random_device{}() % job_ports);
    for (int i = 0; i < job_ports && std::ssize(held.numbers_) < count; ++i) {
        const int port = lowest_job_port + (first + i) % job_ports;
        auto socket = claim(port);
        if (!socket.valid()) continue;
        held.add(port, std::move(socket));
    }
    while (std::ssize(held.numbers_) < count) {
        auto socket = claim(0);
        if (!socket.valid())
            throw Error(
                fmt::format("this machine has no {} free TCP ports: {}", count, std::strerror(errno)));
        const int port = port_of(socket);
        held.add(port, std::move(socket));
    }
    return held;
}

HeldPorts HeldPorts::exactly(const std::vector<int>& ports) {
    HeldPorts held;
    for (const int port : ports) {
        auto socket = claim(port);
        if (!socket.valid()) {
            const int error = errno;
            throw PortTaken(port, std::strerror(error), holder_of_port(port));
        }
        held.add(port, std::move(socket));
    }
    return held;
}

std::string holder_of_port(int port) {
    const auto inode = listening_inode(port);
    if (inode.empty()) return "";
    const auto wanted = "socket:[" + inode + "]";
    std::error_code error;
    for (const auto pid : all_processes())
        for (const int fd : open_descriptors(pid))
            if (std::filesystem::read_symlink(fmt::format("/proc/{}/fd/{}", pid, fd), error) == wanted)
                return fmt::format("pid {} ({})", pid,
                                   trimmed(read_file(fmt::format("/proc/{}/comm", pid)).value_or("?")));
    return "";
}

}  // namespace dtrain
