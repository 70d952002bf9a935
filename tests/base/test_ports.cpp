// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the kernel; sockets that the test opens itself.
#include <netinet/in.h>
#include <set>
#include <sys/socket.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ports.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;

/// A socket that listens on a port of the kernel's choice, on one address only.
struct Listener {
    FileDescriptor socket{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    int port = 0;

    explicit Listener(in_addr_t where) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(where);
        socklen_t length = sizeof address;
        EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
        EXPECT_EQ(::listen(socket.get(), 1), 0);
        EXPECT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
        port = ntohs(address.sin_port);
    }
};

std::string own_name() {
    auto name = read_file("/proc/self/comm").value_or("?\n");
    name.pop_back();
    return fmt::format("pid {} ({})", ::getpid(), name);
}

bool can_listen(int port) {
    try {
        return HeldPorts::exactly({port}).numbers() == std::vector{port};
    } catch (const PortTaken&) {
        return false;
    }
}

TEST(Ports, AnyAreDistinctAndHeld) {
    const auto held = HeldPorts::any(50);
    const std::set<int> distinct(held.numbers().begin(), held.numbers().end());
    EXPECT_EQ(distinct.size(), 50U);
    EXPECT_GT(*distinct.begin(), 0);
    EXPECT_LE(*distinct.rbegin(), 65535);
    for (const int port : held.numbers()) {
        EXPECT_FALSE(can_listen(port));
        EXPECT_EQ(holder_of_port(port), own_name());
    }
    EXPECT_TRUE(HeldPorts::any(0).numbers().empty());
}

TEST(Ports, AnyAreNoneThatTheKernelGivesToOthers) {
    const auto held = HeldPorts::any(50);
    for (const int port : held.numbers()) {
        EXPECT_GE(port, lowest_job_port);
        EXPECT_LT(port, lowest_job_port + job_ports);
    }
}

TEST(Ports, AreFreeAgainWhenTheObjectGoes) {
    std::vector<int> numbers;
    {
        const auto held = HeldPorts::any(3);
        numbers = held.numbers();
    }
    EXPECT_EQ(HeldPorts::exactly(numbers).numbers(), numbers);
    EXPECT_TRUE(can_listen(numbers.front()));
}

TEST(Ports, ATakenOneIsNamedWithItsHolder) {
    for (const auto where : {INADDR_ANY, INADDR_LOOPBACK}) {
        const Listener taken(where);
        const auto free = HeldPorts::any(1).numbers().front();
        try {
            HeldPorts::exactly({free, taken.port});
            FAIL() << "port " << taken.port << " was had twice";
        } catch (const PortTaken& error) {
            EXPECT_EQ(error.port(), taken.port);
            EXPECT_THAT(error.what(), HasSubstr(fmt::format("port {} cannot be used", taken.port)));
            EXPECT_THAT(error.what(), HasSubstr("held by " + own_name()));
            EXPECT_THAT(error.what(), HasSubstr("--start_port"));
        }
        EXPECT_TRUE(can_listen(free)) << "what was claimed before the failure is let go";
    }
}

TEST(Ports, OfIpv6AreSeenToo) {
    const FileDescriptor socket(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_any;
    socklen_t length = sizeof address;
    if (!socket.valid() || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0)
        GTEST_SKIP() << "this machine has no IPv6";
    ASSERT_EQ(::listen(socket.get(), 1), 0);
    ASSERT_EQ(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    EXPECT_FALSE(can_listen(ntohs(address.sin6_port)));
    EXPECT_EQ(holder_of_port(ntohs(address.sin6_port)), own_name());
}

TEST(Ports, NobodyHoldsAFreeOne) {
    const auto free = HeldPorts::any(1).numbers().front();
    EXPECT_EQ(holder_of_port(free), "");
}

}  // namespace
}  // namespace dtrain
