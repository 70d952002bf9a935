// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: nccl_scenarios.cpp, in which rank 1 fails in operation 5 (three sums after the communicator was
// made), or does not come to it; every other rank must say so within the deadline and a few seconds.
#include <map>
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/api/scenario_run.hpp"

namespace dtrain {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Reported {
    std::string what;
    double seconds = 0;
    int aborted = 0;
    std::string message;
    std::string named;  // "timeout: 1": kind and ranks
};

struct Outcome {
    std::map<int, Reported> reports;
    std::string err;
    ExitStatus status;
};

// Whoever is not told of a failure waits for ever then.
const std::string no_deadline = "0";

class NcclFaults : public testing::TestWithParam<std::string> {
  protected:
    void SetUp() override {
        if (std::getenv("DTRAIN_TEST_MPIRUN") == nullptr ||
            std::getenv("DTRAIN_TEST_NCCL_SCENARIOS") == nullptr)
            GTEST_SKIP() << "DTRAIN_TEST_MPIRUN and DTRAIN_TEST_NCCL_SCENARIOS name no programs";
    }

    static Outcome outcome_of(const std::string& scenario, const std::string& deadline = "2") {
        auto environment = Environment::of_this_process();
        environment.set("DTRAIN_RANKS_PER_NODE", GetParam());
        auto [text, status] = tests::run_scenario(4, {std::getenv("DTRAIN_TEST_NCCL_SCENARIOS"), scenario},
                                                  deadline, environment);
        Outcome run{.err = std::move(text), .status = status};
        const std::regex line(R"(<(\d)> (failed|came late) after ([0-9.]+) s, (\d+) aborted: ([^\n]*))");
        for (std::sregex_iterator found(run.err.begin(), run.err.end(), line), end; found != end; ++found) {
            const auto& m = *found;
            run.reports[std::stoi(m[1])] = {
                .what = m[2], .seconds = std::stod(m[3]), .aborted = std::stoi(m[4]), .message = m[5]};
        }
        const std::regex named(R"(\[(\d)\] ([^\n]*))");
        for (std::sregex_iterator found(run.err.begin(), run.err.end(), named), end; found != end; ++found)
            run.reports[std::stoi((*found)[1])].named = (*found)[2];
        EXPECT_THAT(run.err, Not(HasSubstr("another error")));
        EXPECT_THAT(run.err, Not(HasSubstr("a barrier after a failure")));
        EXPECT_THAT(run.err, Not(HasSubstr("something else")));
        return run;
    }

    void expect_async_error_is_named_by_all() const {
        const auto run = outcome_of("async", no_deadline);
        for (int rank = 0; rank < 4; ++rank) {
            const auto reported = run.reports.contains(rank) ? run.reports.at(rank) : Reported{};
            EXPECT_EQ(reported.named, "nccl: 1") << "rank " << rank << "\n" << run.err;
            EXPECT_THAT(reported.message, HasSubstr("allreduce number 5: NCCL failed on rank 1 ("));
            EXPECT_THAT(reported.message, HasSubstr("unhandled system error"));
            EXPECT_EQ(reported.aborted, 1) << "rank " << rank;
        }
        ASSERT_TRUE(run.reports.contains(1)) << run.err;
        EXPECT_THAT(run.reports.at(1).message, HasSubstr("as the script says")) << "NCCL's own words";
    }

    void expect_missing_rank_is_named() const {
        const auto run = outcome_of("sleeps");
        for (const int rank : {0, 2, 3}) {
            const auto reported = run.reports.contains(rank) ? run.reports.at(rank) : Reported{};
            EXPECT_EQ(reported.named, "timeout: 1") << run.err;
            EXPECT_THAT(reported.message, HasSubstr("allreduce number 5 waited"));
            EXPECT_THAT(reported.message,
                        HasSubstr(GetParam() == "1"
                                      ? "rank 1 (did not answer)"
                                      : "rank 1 (in no operation; its last one was number 4, allreduce)"));
            EXPECT_GE(reported.seconds, 1.9);
            EXPECT_LT(reported.seconds, 10.0);
            EXPECT_EQ(reported.aborted, 1);
        }
        EXPECT_FALSE(run.reports.contains(1));
    }
};

class NcclFaultsOfFourNodes : public NcclFaults {};

TEST_P(NcclFaults, NothingScripted) {
    const auto run = outcome_of("well");
    EXPECT_EQ(run.status, ExitStatus{}) << run.err;
    for (int rank = 0; rank < 4; ++rank)
        EXPECT_THAT(run.err, HasSubstr("<" + std::to_string(rank) + "> done"));
}

TEST_P(NcclFaults, AnAsynchronousErrorOfOneRankIsNamedByAll) {
    expect_async_error_is_named_by_all();
}

TEST_P(NcclFaults, AnErrorOfTheGpuIsNamedByAll) {
    const auto run = outcome_of("gpu", no_deadline);
    for (int rank = 0; rank < 4; ++rank) {
        const auto reported = run.reports.contains(rank) ? run.reports.at(rank) : Reported{};
        EXPECT_EQ(reported.named, "nccl: 1") << run.err;
        EXPECT_THAT(reported.message, HasSubstr(rank == 1 ? "illegal memory access" : "unhandled CUDA error"))
            << "rank " << rank << "\n"
            << run.err;
    }
}

TEST_P(NcclFaults, AnErrorWhileAnOperationIsHandedOver) {
    const auto run = outcome_of("handed", no_deadline);
    for (int rank = 0; rank < 4; ++rank) {
        const auto reported = run.reports.contains(rank) ? run.reports.at(rank) : Reported{};
        EXPECT_EQ(reported.named, "nccl: 1") << run.err;
        EXPECT_THAT(reported.message, HasSubstr("remote"));
    }
}

TEST_P(NcclFaults, OneThatCannotJoin) {
    const auto run = outcome_of("join", no_deadline);
    for (int rank = 0; rank < 4; ++rank) {
        const auto reported = run.reports.contains(rank) ? run.reports.at(rank) : Reported{};
        EXPECT_EQ(reported.named, "nccl: 1") << run.err;
        EXPECT_THAT(reported.message, HasSubstr("nccl_communicator number 1: NCCL failed on rank 1 ("));
    }
}

TEST_P(NcclFaults, OneForWhomTheCommunicatorIsBeingMadeForEver) {
    const auto run = outcome_of("joining");
    ASSERT_FALSE(run.reports.empty()) << run.err;
    for (const auto& [rank, reported] : run.reports)
        EXPECT_THAT(reported.named, testing::StartsWith("timeout:")) << rank << run.err;
}

TEST_P(NcclFaults, OneThatDoesNotComeIsNamedByAllThatWait) {
    expect_missing_rank_is_named();
}

TEST_P(NcclFaults, OneThatComesLateIsTold) {
    const auto run = outcome_of("late");
    ASSERT_TRUE(run.reports.contains(0)) << run.err;
    EXPECT_EQ(run.reports.at(0).named, "timeout: 1");
    ASSERT_TRUE(run.reports.contains(1)) << run.err;
    EXPECT_EQ(run.reports.at(1).what, "came late");
}

TEST_P(NcclFaults, AnAbortThatHangsHasADeadlineToo) {
    const auto run = outcome_of("hangs");
    for (const int rank : {0, 2, 3}) {
        const auto reported = run.reports.contains(rank) ? run.reports.at(rank) : Reported{};
        EXPECT_EQ(reported.named, "timeout: 1") << run.err;
        EXPECT_THAT(reported.message, HasSubstr("; ncclCommAbort did not return within 0.5 s"));
        EXPECT_EQ(reported.aborted, 0);
        EXPECT_LT(reported.seconds, 10.0);
    }
}

TEST_P(NcclFaultsOfFourNodes, AnAsynchronousErrorOfOneRankIsNamedByAll) {
    expect_async_error_is_named_by_all();
}

TEST_P(NcclFaultsOfFourNodes, OneThatDoesNotComeIsNamedByAllThatWait) {
    expect_missing_rank_is_named();
}

// Ranks per node: how they learn of each other differs.
INSTANTIATE_TEST_SUITE_P(OneAndTwoNodes, NcclFaults, testing::Values("0", "2"));
INSTANTIATE_TEST_SUITE_P(FourNodes, NcclFaultsOfFourNodes, testing::Values("1"));

}  // namespace
}  // namespace dtrain
