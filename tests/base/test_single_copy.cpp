// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: by hand. That a filter of system calls is noticed: tests/jobs/test_closed_memory.py.
#include <gtest/gtest.h>

#include "base/single_copy.hpp"

namespace dtrain {
namespace {

TEST(SingleCopy, IsLeftToOpenMpiWhereRanksMayReadEachOther) {
    EXPECT_EQ(single_copy_mechanism({}, true), std::nullopt);
    EXPECT_TRUE(may_read_processes());
}

TEST(SingleCopy, IsNoneWhereTheyMayNot) {
    EXPECT_EQ(single_copy_mechanism({}, false), "none");
}

TEST(SingleCopy, IsTheUsers) {
    EXPECT_EQ(single_copy_mechanism({{"OMPI_MCA_btl_vader_single_copy_mechanism", "knem"}}, false),
              std::nullopt);
}

}  // namespace
}  // namespace dtrain
