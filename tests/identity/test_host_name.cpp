// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: RFC 1123, 2.1 (names: labels of up to 63 letters, digits and dashes, a dash neither first nor
// last), RFC 4291, 2.2 (IPv6), RFC 4007, 11 (zones); and getopt: what begins with a dash is an option to ssh.
#include <string>

#include <gtest/gtest.h>

#include "identity/host_name.hpp"
#include "support/fuzz.hpp"

namespace dtrain::cluster {
namespace {

const std::string max(max_label, 'n');

TEST(HostName, NamesAndAddresses) {
    for (const std::string& text :
         {std::string("n1"), std::string("node-1.cluster.example.org"), std::string("rack_2"),
          std::string("host."), std::string("3com.com"), std::string("1"), std::string("10.0.0.1"),
          std::string("::1"), std::string("2001:db8::1"), std::string("fe80::1%eth0"),
          std::string("::ffff:10.0.0.1"), max, max + "." + max + "." + max + "." + max}) {
        EXPECT_TRUE(is_host(text)) << text;
        EXPECT_TRUE(is_host_name(text)) << text;
        EXPECT_TRUE(is_host_name("user@" + text)) << text;
        EXPECT_FALSE(is_host("user@" + text)) << text;
    }
    EXPECT_TRUE(is_host_name("[fe80::1%eth0]"));
    EXPECT_FALSE(is_host("[::1]"));
    EXPECT_TRUE(is_ipv6_address("fe80::1"));
    EXPECT_FALSE(is_ipv6_address("10.0.0.1"));
}

TEST(HostName, WhatSomebodyElseWouldReadOtherwise) {
    for (const char* text : {"",
                             "-Fevil.conf",
                             "-oProxyCommand=sh",
                             "-",
                             "--",
                             "n1.-x",
                             "n1-",
                             "n1-.example.org",
                             "a..b",
                             ".",
                             ".a",
                             "a b",
                             "a,b",
                             "a;b",
                             "a/b",
                             "a\nb",
                             "$(x)",
                             "%h",
                             "h\xc3\xb6st",
                             "256.0.0.1",
                             "10.0.0",
                             "10.0.0.1.2",
                             "1:2",
                             ":::",
                             "fe80::1%",
                             "fe80::1%a b",
                             "-::1"}) {
        EXPECT_FALSE(is_host(text)) << text;
        EXPECT_FALSE(is_host_name(text)) << text;
    }
    for (const char* text :
         {"-l@host", "@host", "user@", "user@-x", "a@b@c", "[n1]", "[10.0.0.1]", "[]", "["})
        EXPECT_FALSE(is_host_name(text)) << text;
    EXPECT_FALSE(is_host(std::string("n1\0", 3)));
    EXPECT_FALSE(is_host(max + "n"));
    EXPECT_FALSE(is_host(max + "." + max + "." + max + "." + max + ".n"));
}

TEST(HostNameProperty, NoneIsAnOptionOrSeveralWords) {
    const tests::Corpus corpus{
        .examples = {"node-1.example.org", "10.0.0.1", "fe80::1%eth0", "[::1]", "user@n1"},
        .pieces = {"-", "--", ".", ":", "::", "@", "[", "]", "%", ",", " ", "\n", "n", "1", "_",
                   "-oProxyCommand="}};
    tests::for_all(corpus, &tests::Mutator::text, [](const std::string& text) {
        if (!is_host_name(text)) return;
        EXPECT_NE(text.front(), '-') << text;
        EXPECT_EQ(text.find("@-"), std::string::npos) << text;
        EXPECT_EQ(text.find_first_of(" ,;=\"'\\$`\n\t"), std::string::npos) << text;
    });
}

}  // namespace
}  // namespace dtrain::cluster
