// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the statuses that session_scenarios.cpp names; a rank that waited for a failed one would run into
// the limit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/api/under_mpirun.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using testing::Not;

class Session : public testing::Test {
  protected:
    void SetUp() override {
        if (!can_run_mpi()) GTEST_SKIP() << "DTRAIN_TEST_MPIRUN and DTRAIN_TEST_SCENARIOS name no programs";
    }
};

TEST_F(Session, EndsWell) {
    const auto run = under_mpirun(2, "well");
    EXPECT_EQ(run.status, ExitStatus{}) << run.err;
}

TEST_F(Session, OneRankThatThrowsEndsTheJobWithItsStatus) {
    const auto run = under_mpirun(2, "alone");
    EXPECT_EQ(run.status, ExitStatus{.code = 7}) << run.err;
    EXPECT_THAT(run.err, HasSubstr("caught: one rank fails"));
}

TEST_F(Session, RanksThatThrowTogetherEndMpiInOrder) {
    const auto run = under_mpirun(2, "together");
    EXPECT_EQ(run.status, ExitStatus{.code = 2}) << run.err;
    EXPECT_THAT(run.err, HasSubstr("agreed: the last rank cannot"));
    EXPECT_THAT(run.err, Not(HasSubstr("finalize"))) << "mpirun's complaint about ranks that left MPI open";
}

TEST_F(Session, MpiMayBelongToTheCaller) {
    for (const int ranks : {1, 2, 4}) {
        const auto run = under_mpirun(ranks, "mpi_of_the_caller");
        EXPECT_EQ(run.status, ExitStatus{}) << ranks << " ranks\n" << run.err;
    }
}

}  // namespace
}  // namespace dtrain
