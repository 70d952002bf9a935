// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the statuses that session_scenarios.cpp names; a rank that waited for a failed one would run into
// the limit.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/subprocess.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using testing::Not;

Captured under_mpirun(const std::string& scenario) {
    auto environment = Environment::of_this_process();
    environment.set("ASAN_OPTIONS", "detect_leaks=0");  // MPI's own would be found
    SpawnOptions options{.environment = environment};
    options.argv = split(std::getenv("DTRAIN_TEST_MPIRUN"), ' ');
    options.argv.insert(options.argv.end(), {"-np", "2", std::getenv("DTRAIN_TEST_SCENARIOS"), scenario});
    return run_and_capture(options, std::chrono::seconds(40));
}

class Session : public testing::Test {
  protected:
    void SetUp() override {
        if (std::getenv("DTRAIN_TEST_MPIRUN") == nullptr || std::getenv("DTRAIN_TEST_SCENARIOS") == nullptr)
            GTEST_SKIP() << "DTRAIN_TEST_MPIRUN and DTRAIN_TEST_SCENARIOS name no programs";
    }
};

TEST_F(Session, EndsWell) {
    const auto run = under_mpirun("well");
    EXPECT_EQ(run.status, ExitStatus{}) << run.err;
}

TEST_F(Session, OneRankThatThrowsEndsTheJobWithItsStatus) {
    const auto run = under_mpirun("alone");
    EXPECT_EQ(run.status, ExitStatus{.code = 7}) << run.err;
    EXPECT_THAT(run.err, HasSubstr("caught: one rank fails"));
}

TEST_F(Session, RanksThatThrowTogetherEndMpiInOrder) {
    const auto run = under_mpirun("together");
    EXPECT_EQ(run.status, ExitStatus{.code = 2}) << run.err;
    EXPECT_THAT(run.err, HasSubstr("agreed: the last rank cannot"));
    EXPECT_THAT(run.err, Not(HasSubstr("finalize"))) << "mpirun's complaint about ranks that left MPI open";
}

}  // namespace
}  // namespace dtrain
