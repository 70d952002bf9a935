// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the authority of RFC 3986 (an IPv6 address with a port stands in brackets), ports of RFC 6335.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "identity/address.hpp"

namespace dtrain::cluster {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

TEST(Address, HostsWithAndWithoutPort) {
    EXPECT_EQ(parse_address("192.168.0.1"), (Address{.host = "192.168.0.1"}));
    EXPECT_EQ(parse_address("192.168.0.1:6170"), (Address{.host = "192.168.0.1", .port = 6170}));
    EXPECT_EQ(parse_address("node-1.cluster_a:1"), (Address{.host = "node-1.cluster_a", .port = 1}));
    EXPECT_EQ(parse_address(" n1:65535\t"), (Address{.host = "n1", .port = 65535}));
}

TEST(Address, Ipv6) {
    EXPECT_EQ(parse_address("2001:db8::1"), (Address{.host = "2001:db8::1"}));
    EXPECT_EQ(parse_address("::1"), (Address{.host = "::1"}));
    EXPECT_EQ(parse_address("[2001:db8::1]"), (Address{.host = "2001:db8::1"}));
    EXPECT_EQ(parse_address("[2001:db8::1]:80"), (Address{.host = "2001:db8::1", .port = 80}));
    EXPECT_EQ(parse_address("[fe80::1%eth0]:80"), (Address{.host = "fe80::1%eth0", .port = 80}));
}

TEST(Address, WhatIsNoneIsQuoted) {
    for (const char* text : {"",        " ",        ":80",       "[]",           "[]:80",
                             "[::1",    "[::1]80",  "a b",       "a/b",          "n1:",
                             "n1:0",    "n1:65536", "n1:-1",     "-Fevil.conf",  "-Fevil.conf:22",
                             "[n1]:80", "[-x]",     "256.1.1.1", "10.0.0.1.:80", "user@n1",
                             "n1:http", "n1:80x",   "n1: 80",    "h\xc3\xb6st"})
        EXPECT_THAT([&] { parse_address(text); },
                    ThrowsMessage<UsageError>(HasSubstr("\"" + std::string(text) + "\" is no address")))
            << text;
    EXPECT_THAT([] { parse_address("a\nb"); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("is no address"), Not(HasSubstr("\n")))));
}

TEST(Address, PartsOfAListAreNamedWithTheirOption) {
    EXPECT_EQ(parse_address_of("--ips", "a,b", "b"), (Address{.host = "b"}));
    EXPECT_THAT([] { parse_address_of("--servers", "a:1,b:x", "b:x"); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("--servers a:1,b:x: \"b:x\""), HasSubstr("no port"),
                                                Not(HasSubstr("\n")))));
    EXPECT_THAT([] { parse_address_of("--ips", "", ""); },
                ThrowsMessage<UsageError>(HasSubstr("--ips \"\": \"\" is no address")));
}

TEST(Address, FormattedAsItIsParsed) {
    EXPECT_EQ(format_address("n1", 6170), "n1:6170");
    EXPECT_EQ(format_address("2001:db8::1", 80), "[2001:db8::1]:80");
    for (const char* host : {"n1", "10.0.0.1", "::1", "fe80::1%eth0"})
        EXPECT_EQ(parse_address(format_address(host, 443)), (Address{.host = host, .port = 443}));
    for (const int port : {0, -1, 65536})
        EXPECT_THAT([&] { (void)format_address("n1", port); },
                    ThrowsMessage<UsageError>(AllOf(HasSubstr(std::to_string(port)), HasSubstr("n1"))));
}

TEST(Address, PortOf) {
    EXPECT_EQ(port_of("n1:80"), 80);
    EXPECT_EQ(port_of("[::1]:80"), 80);
    for (const char* without : {"n1", "::1", "[::1]"})
        EXPECT_THAT([&] { (void)port_of(without); },
                    ThrowsMessage<UsageError>(HasSubstr("\"" + std::string(without) + "\"")));
}

}  // namespace
}  // namespace dtrain::cluster
