// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what must hold of any list of processors, checked on seeded inputs.
#include <gtest/gtest.h>

#include <dtrain/cpuset.hpp>
#include <dtrain/error.hpp>

#include "support/fuzz.hpp"

namespace dtrain {
namespace {

using tests::Mutator;

TEST(CpuSetProperties, AnyTextIsRefusedInWordsOrComesBackFromItsWrittenForm) {
    const tests::Corpus corpus{.examples = {"0-3,8", "0", "0,2,4", " 1 - 3 , 7", "0-63,128-191", "1048576"},
                               .pieces = {"0", "1", "3", "-", ",", " ", "\t", "0-3", "1048577"}};
    tests::for_all(corpus, &Mutator::text, [](const std::string& text) {
        try {
            const auto set = CpuSet::parse(text);
            const auto members = set.members();
            EXPECT_EQ(CpuSet::parse(set.to_string()), set);
            EXPECT_EQ(static_cast<std::size_t>(set.count()), members.size());
            if (members.size() > 1000) return;
            for (const int cpu : members) ASSERT_TRUE(set.contains(cpu));
        } catch (const UsageError& error) {
            EXPECT_TRUE(tests::is_helpful(error.what(), {"\"" + text}));
        }
    });
}

}  // namespace
}  // namespace dtrain
