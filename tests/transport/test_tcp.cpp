// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: getsockname, getsockopt and the loopback network itself.
#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ports.hpp"
#include "support/message_of.hpp"
#include "transport/tcp.hpp"

namespace dtrain::transport {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

FileDescriptor accepted_by(const FileDescriptor& listener) {
    pollfd waiting{listener.get(), POLLIN, 0};
    ::poll(&waiting, 1, 5000);
    return accept_from(listener);
}

int option(const FileDescriptor& socket, int level, int name) {
    int value = -1;
    socklen_t length = sizeof value;
    ::getsockopt(socket.get(), level, name, &value, &length);
    return value;
}

TEST(Tcp, ConnectsToTheAddressThatListens) {
    const auto listener = listen_at("127.0.0.1", 0);
    ASSERT_TRUE(listener.valid());
    EXPECT_FALSE(accept_from(listener).valid());  // nobody is there, and it does not wait
    const auto connected = connect_to("127.0.0.1", port_of(listener), seconds(5));
    ASSERT_TRUE(std::holds_alternative<FileDescriptor>(connected));
    const auto accepted = accepted_by(listener);
    ASSERT_TRUE(accepted.valid());
    EXPECT_EQ(peer_of(accepted), "127.0.0.1");
    EXPECT_EQ(peer_of(std::get<FileDescriptor>(connected)), "127.0.0.1");
}

TEST(Tcp, APortThatSomebodyHasIsNotGivenOut) {
    const auto listener = listen_at("127.0.0.1", 0);
    const auto second = listen_at("127.0.0.1", port_of(listener));
    EXPECT_EQ(errno, EADDRINUSE);
    EXPECT_FALSE(second.valid());
}

TEST(Tcp, WhereNobodyListensTheReasonIsTold) {
    int port = 0;
    {
        const auto listener = listen_at("127.0.0.1", 0);
        port = port_of(listener);
    }
    const auto connected = connect_to("127.0.0.1", port, seconds(5));
    ASSERT_TRUE(std::holds_alternative<std::string>(connected));
    EXPECT_EQ(std::get<std::string>(connected), "Connection refused");
}

TEST(Tcp, AnAddressOfAnotherMachineMeansAllOfThisOne) {
    const auto listener = listen_at("192.0.2.1", 0);  // RFC 5737: nobody's
    ASSERT_TRUE(listener.valid());
    EXPECT_TRUE(
        std::holds_alternative<FileDescriptor>(connect_to("127.0.0.1", port_of(listener), seconds(5))));
}

TEST(Tcp, AnUnknownNameIsAnError) {
    EXPECT_THAT(tests::message_of([] { listen_at("no-such-host.invalid", 0); }),
                HasSubstr("no-such-host.invalid is no known host"));
}

TEST(Tcp, SilenceIsNoticedInSeconds) {
    const auto listener = listen_at("127.0.0.1", 0);
    const auto connected = connect_to("127.0.0.1", port_of(listener), seconds(5));
    for (const auto* socket : {&std::get<FileDescriptor>(connected)}) {
        notice_silence(*socket);
        EXPECT_EQ(option(*socket, SOL_SOCKET, SO_KEEPALIVE), 1);
        EXPECT_EQ(option(*socket, IPPROTO_TCP, TCP_USER_TIMEOUT), 5000);
        const int idle = option(*socket, IPPROTO_TCP, TCP_KEEPIDLE);
        const int between = option(*socket, IPPROTO_TCP, TCP_KEEPINTVL);
        const int probes = option(*socket, IPPROTO_TCP, TCP_KEEPCNT);
        EXPECT_LE(idle + between * probes, 5);
    }
}

}  // namespace
}  // namespace dtrain::transport
