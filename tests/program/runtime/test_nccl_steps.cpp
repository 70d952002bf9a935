// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: nccl_step_scenarios.cpp, in which rank 1 fails in the sixth step, or does not come to it; every
// other rank must name it within the deadline and a few seconds, whatever it does meanwhile, and run no
// graph after that.
#include <map>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/api/scenario_run.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr int ranks = 4;

struct Reported {
    double seconds = 0;
    int aborted = 0;
    std::string message;
};

struct Outcome {
    std::map<int, Reported> reports;
    std::string all;
    ExitStatus status;
};

class NcclSteps : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        for (const auto* name : {"DTRAIN_TEST_MPIRUN", "DTRAIN_TEST_NCCL_STEPS", "DTRAIN_GPU_MODULE"})
            if (std::getenv(name) == nullptr) GTEST_SKIP() << name << " is not set";
    }

    static Outcome outcome_of(const std::string& scenario, const std::string& deadline = "2") {
        auto [all, status] =
            tests::run_scenario(ranks, {std::getenv("DTRAIN_TEST_NCCL_STEPS"), scenario, GetParam()},
                                deadline, Environment::of_this_process());
        Outcome run{.all = std::move(all), .status = status};
        const std::regex line(R"(<(\d)> failed after ([0-9.]+) s, (\d+) aborted: ([^\n]*))");
        for (std::sregex_iterator found(run.all.begin(), run.all.end(), line), end; found != end; ++found)
            run.reports[std::stoi((*found)[1])] = {
                .seconds = std::stod((*found)[2]), .aborted = std::stoi((*found)[3]), .message = (*found)[4]};
        for (const auto* wrong : {"after a failure", "says something else", "another kind", "wrong:"})
            EXPECT_THAT(run.all, Not(HasSubstr(wrong)));
        return run;
    }
};

TEST_P(NcclSteps, NothingScripted) {
    const auto run = outcome_of("well");
    EXPECT_EQ(run.status, ExitStatus{}) << run.all;
    for (int rank = 0; rank < ranks; ++rank)
        EXPECT_THAT(run.all, HasSubstr("<" + std::to_string(rank) + "> done"));
}

TEST_P(NcclSteps, OneThatDoesNotComeIsNamedByAllThatWait) {
    const auto run = outcome_of("sleeps");
    for (const int rank : {0, 2, 3}) {
        ASSERT_TRUE(run.reports.contains(rank)) << rank << '\n' << run.all;
        const auto& reported = run.reports.at(rank);
        EXPECT_THAT(reported.message, HasSubstr("allreduce number 9 waited"));
        EXPECT_THAT(reported.message,
                    HasSubstr("rank 1 (in no operation; its last one was number 8, allreduce)"));
        EXPECT_THAT(reported.message, Not(HasSubstr("did not return")));
        EXPECT_GE(reported.seconds, 1.9);
        EXPECT_LT(reported.seconds, 10.0);
        EXPECT_EQ(reported.aborted, 1);
        EXPECT_THAT(run.all, HasSubstr("<" + std::to_string(rank) + "> timeout"));
    }
}

TEST_P(NcclSteps, OneThatComesLateIsTold) {
    const auto run = outcome_of("late");
    ASSERT_TRUE(run.reports.contains(0)) << run.all;
    EXPECT_THAT(run.reports.at(0).message, HasSubstr("rank 1 ("));
    ASSERT_TRUE(run.reports.contains(1)) << run.all;
    EXPECT_THAT(run.reports.at(1).message,
                HasSubstr("this rank, 1, came when the others had given up waiting for it"));
    EXPECT_LT(run.reports.at(1).seconds, 1.9) << "before its own deadline of 2 s";
}

// Without a deadline: who is not told waits for ever.
TEST_P(NcclSteps, AnErrorOfOneRankIsNamedByAll) {
    for (const std::string kind : {"async", "gpu"}) {
        const auto run = outcome_of(kind, "0");
        for (int rank = 0; rank < ranks; ++rank) {
            ASSERT_TRUE(run.reports.contains(rank)) << kind << ' ' << rank << '\n' << run.all;
            EXPECT_THAT(run.reports.at(rank).message,
                        HasSubstr("allreduce number 9: NCCL failed on rank 1 ("));
            EXPECT_THAT(run.all, HasSubstr("<" + std::to_string(rank) + "> nccl"));
        }
        EXPECT_THAT(run.reports.at(1).message,
                    HasSubstr(kind == "async" ? "as the script says" : "illegal memory access"));
    }
}

// The abort waits for whatever has NCCL's operations, the graph that is being made too: 10 s, where that
// is not given up first.
TEST_P(NcclSteps, ARankThatCannotRecordIsNamedByAllAtOnce) {
    const auto run = outcome_of("graph", "0");
    for (int rank = 0; rank < ranks; ++rank) {
        ASSERT_TRUE(run.reports.contains(rank)) << rank << '\n' << run.all;
        const auto& reported = run.reports.at(rank);
        EXPECT_THAT(reported.message, HasSubstr(": NCCL failed on rank 1 ("));
        EXPECT_THAT(reported.message, Not(HasSubstr("did not return")));
        EXPECT_LT(reported.seconds, 5.0);
        EXPECT_EQ(reported.aborted, 1);
    }
    EXPECT_THAT(run.reports.at(1).message, HasSubstr("as the script says"));
}

INSTANTIATE_TEST_SUITE_P(WhatTheCallerDoes, NcclSteps, testing::Values("run", "fetch", "parameters"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace dtrain
