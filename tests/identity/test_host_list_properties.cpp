// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any text, checked on seeded inputs: it is refused in words, or it names hosts
// that come back from their written form.
#include <set>

#include <gtest/gtest.h>

#include <dtrain/cluster.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "support/fuzz.hpp"

namespace dtrain::cluster {
namespace {

using tests::Corpus;
using tests::for_all;
using tests::is_helpful;
using tests::Mutator;

void expect_a_host_name(const std::string& host) {
    EXPECT_FALSE(host.empty());
    EXPECT_EQ(host, one_line(host));
    EXPECT_EQ(host.find_first_of(" ,#="), std::string::npos) << host;
}

/// The line that "hostfile line N ..." is about, as messages quote it.
std::string named_line(const std::string& text, const std::string& message) {
    const auto after = message.substr(std::string_view("hostfile line ").size());
    const auto number = parse_int<std::size_t>(after.substr(0, after.find(' ')));
    const auto lines = split(text, '\n');
    if (!number || *number < 1 || *number > lines.size()) return "(no such line)";
    const std::string_view line(lines[*number - 1]);
    return "'" + std::string(trimmed(line.substr(0, line.find('#'))));
}

TEST(HostfileProperties, AnyTextIsRefusedInWordsOrComesBackFromItsWrittenForm) {
    const Corpus corpus{
        .examples = {"node1 slots=4\nnode2 slots=4\n", "a\nb:3\n# comment\n\nc # more\n",
                     "[::1]:2\nfe80::1%eth0 slots=1 max_slots=2\n", "user@host max-slots=8 slots = 2\r\n",
                     "n1\nn1\nn2\nn1\n", "10.0.0.1:8\n10.0.0.2:8"},
        .pieces = {
            "node1", "a", "10.0.0.1", "[::1]", "fe80::1%eth0", " slots=", "slots", " max_slots=", "=",  ":",
            "::",    "#", "\n",       "\r\n",  "\v",           "[",       "]",     "@",           "\t", " "}};
    for_all(corpus, &Mutator::text, [](const std::string& text) {
        try {
            const auto hosts = parse_hostfile(text);
            EXPECT_EQ(parse_hostfile(format_hostfile(hosts)), hosts);
            std::set<std::string> names;
            for (const auto& [host, slots] : hosts) {
                expect_a_host_name(host);
                EXPECT_TRUE(names.insert(host).second) << host << " is there twice";
                EXPECT_GE(slots, 1);
                EXPECT_LE(slots, 1'000'000);
            }
        } catch (const UsageError& error) {
            EXPECT_TRUE(is_helpful(error.what(), {named_line(text, error.what())}));
        }
    });
}

TEST(NodelistProperties, AnyTextIsRefusedInWordsOrComesBackFromItsHosts) {
    const Corpus corpus{.examples = {"n[01-03,7]-ib,login2", "a,b,c", "rack[1-2]node[01-10]", "n[0-99]",
                                     "host", " n1 , n2 ", "cn[0001-0004,0010]", "node-1.example.org"},
                        .pieces = {"n", "node", "[", "]", "-", ",", "01", "[1-3]", "[01-03,7]", "-ib", " ",
                                   "[0-999999999]", "[1-300]", ".", "rack"}};
    for_all(corpus, &Mutator::text, [](const std::string& text) {
        try {
            const auto hosts = expand_nodelist(text);
            EXPECT_LE(hosts.size(), 1'000'000U);
            if (hosts.size() > 1000) return;
            EXPECT_EQ(expand_nodelist(join(hosts, ",")), hosts);
            for (const auto& host : hosts) {
                expect_a_host_name(host);
                EXPECT_LE(host.size(), 255U);
            }
        } catch (const UsageError& error) {
            EXPECT_TRUE(is_helpful(error.what(), {"'" + text}));
        }
    });
}

TEST(NodelistProperties, ListsThatWouldFillTheMemoryAreRefused) {
    std::string many_brackets;
    for (int i = 0; i < 250; ++i) many_brackets += "[0-1]";
    std::string many_ranges = "n[0-99999";
    for (int i = 0; i < 1000; ++i) many_ranges += ",0-99999";
    for (const auto& text :
         {std::string("n[0-999999999]"), std::string("n[0-1000000]"), std::string("n[0-999][0-999][0-999]"),
          std::string("n[0-999999],m[0-999999]"), many_brackets, many_ranges + "]", std::string(300, 'n')}) {
        try {
            expand_nodelist(text);
            ADD_FAILURE() << text.substr(0, 40) << " was accepted";
        } catch (const UsageError& error) {
            EXPECT_TRUE(is_helpful(error.what(), {"'" + text}));
        }
    }
}

}  // namespace
}  // namespace dtrain::cluster
