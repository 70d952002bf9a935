// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the forms that the header promises; the kernel, of which the test asks for the same port twice.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/ports.hpp"
#include "scrape/listen_address.hpp"
#include "support/message_of.hpp"

namespace dtrain::scrape {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ListenAddress, IsAPortOrAHostWithOne) {
    const auto parsed = [](const char* text) { return parse_listen_address("--metrics-port", text); };
    EXPECT_EQ(parsed("9400"), (ListenAddress{"127.0.0.1", 9400}));
    EXPECT_EQ(parsed("0"), (ListenAddress{"127.0.0.1", 0}));
    EXPECT_EQ(parsed("65535"), (ListenAddress{"127.0.0.1", 65535}));
    EXPECT_EQ(parsed("0.0.0.0:9400"), (ListenAddress{"0.0.0.0", 9400}));
    EXPECT_EQ(parsed("node-1.x:0"), (ListenAddress{"node-1.x", 0}));
    EXPECT_EQ(parsed("[::1]:9400"), (ListenAddress{"::1", 9400}));
    for (const auto* text : {"127.0.0.1:9400", "[::]:1"}) EXPECT_EQ(to_string(parsed(text)), text);
}

TEST(ListenAddress, RefusesEverythingElse) {
    for (const auto* text :
         {"", "x", "-1", "65536", "94 00", "9400.", ":9400", "a:", "a:b", "a:-1", "a:65536", "::1",
          "::1:9400", "[]:9400", "[::1]", "a b:1", "http://a:1", "a/b:1", "a:1:2"})
        EXPECT_THAT(
            tests::message_of([&] { parse_listen_address("--metrics-port", text); }),
            AllOf(HasSubstr("--metrics-port " + std::string(*text == '\0' ? "\"\"" : text) + ": it must be "),
                  HasSubstr("such as 9400 or 0.0.0.0:9400")))
            << text;
}

TEST(ListenAddress, IsListenedAt) {
    const auto listener = listen_at({}, "--metrics-port");
    const int port = port_of(listener);
    EXPECT_GT(port, 0);
    EXPECT_NE(::fcntl(listener.get(), F_GETFD) & FD_CLOEXEC, 0);
    sockaddr_in own{};
    socklen_t length = sizeof own;
    ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&own), &length), 0);
    EXPECT_EQ(ntohl(own.sin_addr.s_addr), INADDR_LOOPBACK);

    const ListenAddress same{.port = port};
    EXPECT_THAT(
        tests::message_of([&] { listen_at(same, "--metrics-port"); }),
        AllOf(HasSubstr("--metrics-port 127.0.0.1:" + std::to_string(port) + ": Address already in use"),
              HasSubstr("held by pid " + std::to_string(::getpid())), HasSubstr("choose another port")));
}

TEST(ListenAddress, MustBeOneOfThisMachine) {
    EXPECT_THAT(tests::message_of([] {
                    listen_at({"192.0.2.1", 0}, "--metrics-port");
                }),  // RFC 5737: nobody's
                HasSubstr("--metrics-port 192.0.2.1:0: Cannot assign requested address"));
    EXPECT_EQ(tests::message_of([] {
                  listen_at({"127.0.0.1", 65536}, "metrics_port");
              }),
              "metrics_port 127.0.0.1:65536: it must be a port in 0..65535");
    EXPECT_THAT(tests::message_of([] {
                    listen_at({"none.invalid", 1}, "--metrics-port");
                }),  // RFC 6761
                HasSubstr("--metrics-port none.invalid:1: none.invalid is no known host: "));
}

}  // namespace
}  // namespace dtrain::scrape
