// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/unanswered.hpp"

#include <filesystem>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

#include "base/process_handle.hpp"
#include "base/process_tree.hpp"

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

namespace dtrain {
namespace {

namespace fs = std::filesystem;

bool is_connected_tcp(int socket) {
    int protocol = 0;
    socklen_t size = sizeof(protocol);
    if (::getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0 || protocol != IPPROTO_TCP)
        return false;
    sockaddr_storage peer{};
    socklen_t peer_size = sizeof(peer);
    return ::getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_size) == 0;
}

}  // namespace

int limit_unanswered(pid_t process, std::chrono::milliseconds limit) {
    const auto handle = process_handle(process);
    if (!handle.valid()) return 0;
    const auto milliseconds = static_cast<unsigned>(limit.count());
    int limited = 0;
    const auto folder = "/proc/" + std::to_string(process) + "/fd/";
    for (const int number : open_descriptors(process)) {
        std::error_code closed;
        if (!fs::read_symlink(folder + std::to_string(number), closed).string().starts_with("socket:"))
            continue;
        const FileDescriptor socket(static_cast<int>(::syscall(SYS_pidfd_getfd, handle.get(), number, 0)));
        if (!socket.valid() || !is_connected_tcp(socket.get())) continue;
        if (::setsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof(milliseconds)) ==
            0)
            ++limited;
    }
    return limited;
}

}  // namespace dtrain
