// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what a rank may use, divided by hand among the ranks that may use it too; under mpirun, where ranks
// are bound to nothing, the processors of this process.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/api/own_processors.hpp"
#include "comm/api/under_mpirun.hpp"

namespace dtrain::comm {
namespace {

std::vector<CpuSet> sets(std::initializer_list<const char*> lists) {
    std::vector<CpuSet> all;
    for (const auto* list : lists) all.push_back(CpuSet::parse(list));
    return all;
}

TEST(OwnProcessors, AreThoseOfABoundRank) {
    EXPECT_EQ(own_processors(sets({"0-3", "4-7"}), 0), 4);
    EXPECT_EQ(own_processors(sets({"0-3", "4-7", "8"}), 2), 1);
}

TEST(OwnProcessors, AreAPartOfWhatOthersMayUseToo) {
    EXPECT_EQ(own_processors(sets({"0-7", "0-7"}), 1), 4);
    EXPECT_EQ(own_processors(sets({"0-7", "0-7", "0-7"}), 1), 2);
    EXPECT_EQ(own_processors(sets({"0-7", "0-7", "8-9"}), 0), 4);
    EXPECT_EQ(own_processors(sets({"0-7", "0-3", "4-7"}), 0), 2);
    EXPECT_EQ(own_processors(sets({"0-7", "0-3", "4-7"}), 1), 2);
}

TEST(OwnProcessors, AreOneAtLeast) {
    EXPECT_EQ(own_processors(sets({"0-1", "0-1", "0-1"}), 2), 1);
    EXPECT_EQ(own_processors(sets({""}), 0), 1);
}

class ThreadsOfASession : public testing::TestWithParam<int> {
  protected:
    void SetUp() override {
        if (!can_run_mpi()) GTEST_SKIP() << "DTRAIN_TEST_MPIRUN and DTRAIN_TEST_SCENARIOS name no programs";
    }

    static std::string line(int rank, int processors, int threads) {
        return "<" + std::to_string(rank) + "> " + std::to_string(processors) + " processors, " +
               std::to_string(threads) + " threads\n";
    }
};

TEST_P(ThreadsOfASession, AreTheRanksOwnProcessors) {
    const auto run = under_mpirun(GetParam(), "threads", {{"OMP_NUM_THREADS", ""}});
    ASSERT_EQ(run.status, ExitStatus{}) << run.err;
    const int own = std::max(1, CpuSet::of_this_thread().count() / GetParam());
    for (int rank = 0; rank < GetParam(); ++rank)
        EXPECT_THAT(run.err, testing::HasSubstr(line(rank, own, own)));
}

TEST_P(ThreadsOfASession, AreWhatTheUserSays) {
    const auto run = under_mpirun(GetParam(), "threads", {{"OMP_NUM_THREADS", "5"}});
    ASSERT_EQ(run.status, ExitStatus{}) << run.err;
    const int own = std::max(1, CpuSet::of_this_thread().count() / GetParam());
    for (int rank = 0; rank < GetParam(); ++rank)
        EXPECT_THAT(run.err, testing::HasSubstr(line(rank, own, 5)));
}

INSTANTIATE_TEST_SUITE_P(Ranks, ThreadsOfASession, testing::Values(1, 2, 3));

}  // namespace
}  // namespace dtrain::comm
