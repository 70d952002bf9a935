// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the kernel's list form of processor sets (cpuset(7), "List format") and set algebra.
#include <gtest/gtest.h>

#include <dtrain/cpuset.hpp>
#include <dtrain/error.hpp>

namespace dtrain {
namespace {

TEST(CpuSet, PrintsTheShortestListForm) {
    EXPECT_EQ(CpuSet::parse("3,1,2,8").to_string(), "1-3,8");
    EXPECT_EQ(CpuSet::parse(" 0 - 3 , 130 ").to_string(), "0-3,130");
    EXPECT_EQ(CpuSet::parse("").to_string(), "");
}

TEST(CpuSet, RefusesWhatIsNoList) {
    for (const char* text : {"a", "1-", "-1", "3-1", "1,,2", "1-2-3", "99999999"})
        EXPECT_THROW(CpuSet::parse(text), UsageError) << text;
}

TEST(CpuSet, Algebra) {
    const auto a = CpuSet::range(0, 99), b = CpuSet::range(90, 200);
    EXPECT_EQ((a & b).to_string(), "90-99");
    EXPECT_EQ((a | b).to_string(), "0-200");
    EXPECT_EQ((a - b).to_string(), "0-89");
    EXPECT_EQ((a & CpuSet::range(150, 160)), CpuSet());
    EXPECT_TRUE(CpuSet::range(5, 6).is_subset_of(a));
    EXPECT_FALSE(b.is_subset_of(a));
    EXPECT_EQ(b.count(), 111);
    EXPECT_FALSE(a.contains(-1));
}

TEST(CpuSet, OfThisThreadIsNotEmpty) {
    EXPECT_GE(CpuSet::of_this_thread().count(), 1);
}

}  // namespace
}  // namespace dtrain
