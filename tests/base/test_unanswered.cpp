// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what the kernel says of the sockets of another process, which tells it.
#include <chrono>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files.hpp"
#include "base/unanswered.hpp"

namespace dtrain {
namespace {

using namespace std::chrono_literals;

unsigned limit_of(const FileDescriptor& socket) {
    unsigned milliseconds = 0;
    socklen_t size = sizeof(milliseconds);
    EXPECT_EQ(::getsockopt(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, &size), 0);
    return milliseconds;
}

/// A listening socket, and a connection with both of its ends.
struct Sockets {
    FileDescriptor listening{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    FileDescriptor near{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    FileDescriptor far;

    Sockets() {
        sockaddr_in address{
            .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
        auto* const any = reinterpret_cast<sockaddr*>(&address);
        socklen_t size = sizeof(address);
        EXPECT_EQ(::bind(listening.get(), any, size), 0);
        EXPECT_EQ(::listen(listening.get(), 1), 0);
        EXPECT_EQ(::getsockname(listening.get(), any, &size), 0);
        EXPECT_EQ(::connect(near.get(), any, size), 0);
        far = FileDescriptor(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
    }
};

TEST(Unanswered, IsLimitedOnEachConnectionOfAnotherProcess) {
    auto begin = Pipe::open(), answer = Pipe::open();
    const pid_t child = ::fork();
    if (child == 0) {
        const Sockets sockets;
        char byte = 'r';
        const bool told =
            ::write(answer.write_end.get(), &byte, 1) == 1 && ::read(begin.read_end.get(), &byte, 1) == 1;
        const bool as_expected = limit_of(sockets.near) == 12345 && limit_of(sockets.far) == 12345 &&
                                 limit_of(sockets.listening) == 0;
        ::_exit(told && as_expected ? 0 : 1);
    }
    char byte = 0;
    ASSERT_EQ(::read(answer.read_end.get(), &byte, 1), 1);
    const int limited = limit_unanswered(child, 12345ms);
    ASSERT_EQ(::write(begin.write_end.get(), &byte, 1), 1);
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (limited == 0 && status != 0)
        GTEST_SKIP() << "the kernel does not let a process have another's descriptors";
    EXPECT_EQ(limited, 2);
    EXPECT_EQ(status, 0);
}

TEST(Unanswered, OfAProcessThatIsGoneIsNothing) {
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_EQ(limit_unanswered(child, 1s), 0);
}

}  // namespace
}  // namespace dtrain
