// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any address, checked on seeded inputs.
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "identity/address.hpp"
#include "support/fuzz.hpp"

namespace dtrain::cluster {
namespace {

using tests::Mutator;

TEST(AddressProperties, AnyTextIsRefusedInWordsOrComesBackFromItsWrittenForm) {
    const tests::Corpus corpus{
        .examples = {"10.0.0.1:6170", "node7", "node7.example.org:80", "[2001:db8::1]:6170", "fe80::1%eth0",
                     "[::1]"},
        .pieces = {"10.0.0.1", "node7", ":", "6170", "[", "]", "::1", "%eth0", " ", "-"}};
    tests::for_all(corpus, &Mutator::text, [](const std::string& text) {
        try {
            const auto [host, port] = parse_address(text);
            const auto written = format_address(host, port.value_or(1));
            EXPECT_EQ(parse_address(written), (Address{host, port.value_or(1)}));
            EXPECT_EQ(port_of(written), port.value_or(1));
        } catch (const UsageError& error) {
            EXPECT_TRUE(tests::is_helpful(error.what(), {"\"" + text}));
        }
    });
}

}  // namespace
}  // namespace dtrain::cluster
