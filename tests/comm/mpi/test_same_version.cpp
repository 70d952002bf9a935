// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the versions that the test gives the ranks. Runs at 1, 2 and 4 ranks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/host.hpp"
#include "comm/mpi/same_version.hpp"
#include "support/test_world.hpp"

namespace dtrain::comm {
namespace {

TEST(SameVersion, IsFineOnAnyNumberOfRanks) {
    EXPECT_EQ(version_difference({{"a", "1.0"}}), std::nullopt);
    EXPECT_EQ(version_difference({{"a", "1.0"}, {"b", "1.0"}}), std::nullopt);
    EXPECT_NO_THROW(check_same_version(MPI_COMM_WORLD, "1.0"));
}

TEST(SameVersion, OthersAreNamedWithTheirFirstRank) {
    EXPECT_EQ(
        version_difference({{"a", "1.0"}, {"a", "1.0"}, {"b", "1.1"}, {"c", "1.0"}}),
        "the ranks have different versions of dtrain: 1.0 on 3 ranks (the first is rank 0 on a), 1.1 on 1 "
        "rank (the first is rank 2 on b); install one on all nodes");
}

TEST(SameVersion, OfAnythingElse) {
    EXPECT_EQ(
        version_difference({{"a", "2.28.9"}, {"b", "2.18.5"}}, "NCCL"),
        "the ranks have different versions of NCCL: 2.28.9 on 1 rank (the first is rank 0 on a), 2.18.5 on 1 "
        "rank (the first is rank 1 on b); install one on all nodes");
}

TEST(SameVersion, AllRanksThrowWhenOneDiffers) {
    const int last = test_world().size() - 1;
    if (last == 0) GTEST_SKIP() << "one rank has one version";
    std::vector<std::string> expected(static_cast<std::size_t>(last), "1.0");
    expected.emplace_back("1.0.1");
    try {
        check_same_version(MPI_COMM_WORLD, test_world().rank() == last ? "1.0.1" : "1.0");
        FAIL() << "it threw nothing";
    } catch (const VersionMismatch& mismatch) {
        EXPECT_EQ(mismatch.versions(), expected);
        EXPECT_THAT(mismatch.what(), testing::HasSubstr("1.0.1 on 1 rank (the first is rank " +
                                                        std::to_string(last) + " on " + host_name() + ")"));
    }
}

}  // namespace
}  // namespace dtrain::comm
