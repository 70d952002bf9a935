// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: session_scenarios.cpp, in which rank 1 does not come to operation 4; every other rank must say so
// within the deadline and three seconds.
#include <regex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/mpi_session.hpp>

#include "comm/api/under_mpirun.hpp"
#include "support/begun_together.hpp"

namespace dtrain {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

struct Reported {
    int rank;
    double seconds;
    std::string operation;
    int number;
    std::string missing;
    std::string message;
};

std::vector<Reported> reports_in(const std::string& text) {
    const std::regex line(R"(<(\d+)> after ([0-9.]+) s, (\w+) (\d+) misses((?: \d+)*): ([^\n]*))");
    std::vector<Reported> all;
    for (std::sregex_iterator found(text.begin(), text.end(), line), end; found != end; ++found) {
        const auto& m = *found;
        all.push_back({std::stoi(m[1]), std::stod(m[2]), m[3], std::stoi(m[4]), m[5], m[6]});
    }
    return all;
}

struct Case {
    std::string scenario;
    std::string ranks_per_node;
    std::string operation;
    std::string where;         // rank 1 is
    std::string thread = "0";  // that lets operations go on
    int number = 4;            // of the operation in which the others wait
};

void PrintTo(const Case& value, std::ostream* out) {
    *out << value.scenario << ", " << value.ranks_per_node << " ranks per node";
}

class Timeout : public testing::TestWithParam<Case> {
  protected:
    void SetUp() override {
        if (!can_run_mpi()) GTEST_SKIP() << "DTRAIN_TEST_MPIRUN and DTRAIN_TEST_SCENARIOS name no programs";
    }
};

Captured run_case(const Case& value) {
    return under_mpirun(4, value.scenario,
                        {{"DTRAIN_COMM_TIMEOUT", "2"},
                         {"DTRAIN_RANKS_PER_NODE", value.ranks_per_node},
                         {"DTRAIN_PROGRESS_THREAD", value.thread}});
}

const std::string in_none = "in no operation; its last one was number 3, allreduce";
const std::string in_none_after_four = "in no operation; its last one was number 4, allreduce";
const std::string started = "has started it and is in no operation now";
const std::vector<Case> cases{
    // On one node,
    {"late", "0", "allreduce", in_none},
    {"sleeps", "0", "allreduce", in_none},
    {"stopped", "0", "allreduce", in_none},
    {"started", "0", "allreduce", started},
    {"gather", "0", "all_gather", in_none},
    // on two,
    {"sleeps", "2", "allreduce", in_none},
    {"stopped", "2", "allreduce", in_none},
    {"started", "2", "allreduce", started},
    {"sleeps", "2", "allreduce", in_none, "1"},
    {"started", "2", "allreduce", in_none_after_four, "1", 5},
    {"gather", "2", "all_gather", in_none},
    // and where rank 1 is the only one of its node: nobody there can say where it is.
    {"sleeps", "1", "allreduce", "did not answer"},
};

TEST_P(Timeout, AllRanksThatWaitNameTheOneThatIsMissing) {
    static tests::BegunTogether<Case, Captured> runs(cases, run_case);
    const auto run = runs.of_this_test();
    std::set<int> ranks;
    for (const auto& one : reports_in(run.err)) {
        ranks.insert(one.rank);
        EXPECT_EQ(one.operation, GetParam().operation);
        if (one.number == 5 && GetParam().number == 4 && GetParam().scenario == "started" &&
            GetParam().ranks_per_node == "2") {
            // What rank 1 had started was enough for the other node, which waits in the next one.
            EXPECT_THAT(one.message,
                        HasSubstr("rank 1 (in no operation; its last one was number 4, allreduce)"));
            EXPECT_EQ(one.missing, " 0 1");
            EXPECT_GE(one.rank, 2);
            continue;
        }
        EXPECT_EQ(one.number, GetParam().number);
        EXPECT_EQ(one.missing, " 1");
        if (one.rank == 1) {
            EXPECT_THAT(one.message, HasSubstr("came when the others had given up"));
            continue;
        }
        EXPECT_LT(one.seconds, 5.0) << one.message;
        EXPECT_THAT(one.message, HasSubstr("rank 1 (" + GetParam().where + ")"));
    }
    for (const int rank : {0, 2, 3}) EXPECT_TRUE(ranks.count(rank)) << "rank " << rank << "\n" << run.err;
    EXPECT_NE(run.status, ExitStatus{});
}

INSTANTIATE_TEST_SUITE_P(OnOneTwoAndFourNodes, Timeout, testing::ValuesIn(cases));

class FirstRankBeforeItsFirstOperation : public testing::TestWithParam<std::string> {};

// With one rank on each node the first one hears of it from other nodes alone.
const std::vector<std::string> ranks_per_node{"0", "2", "1"};

TEST_P(FirstRankBeforeItsFirstOperation, IsNamedAndToldWhatItHasMissed) {
    if (!can_run_mpi()) GTEST_SKIP() << "DTRAIN_TEST_MPIRUN and DTRAIN_TEST_SCENARIOS name no programs";
    static tests::BegunTogether<std::string, Captured> runs(ranks_per_node, [](const std::string& together) {
        return under_mpirun(4, "late_first",
                            {{"DTRAIN_COMM_TIMEOUT", "2"}, {"DTRAIN_RANKS_PER_NODE", together}});
    });
    // MPICH with UCX connects two ranks at their first message, when both call MPI: of those that had gone
    // before the first rank came, it hears nothing from one that had never sent to it.
    const bool connects_when_asked = MpiSession::library_version().starts_with("MPICH");
    const auto run = runs.of_this_test();
    std::set<int> ranks;
    for (const auto& one : reports_in(run.err)) {
        ranks.insert(one.rank);
        EXPECT_EQ(one.operation, "allreduce") << one.message;
        EXPECT_EQ(one.number, 1) << one.message;
        if (one.rank == 0 && connects_when_asked) {
            EXPECT_THAT(one.message,
                        AnyOf(HasSubstr("came when the others had given up"), HasSubstr("(did not answer)")));
            continue;
        }
        EXPECT_EQ(one.missing, " 0");
        EXPECT_THAT(one.message, one.rank == 0 ? HasSubstr("came when the others had given up")
                                               : HasSubstr(GetParam() == "1"
                                                               ? "for rank 0 (did not answer)"
                                                               : "for rank 0 (in no operation; it has called "
                                                                 "none yet)"));
    }
    EXPECT_EQ(ranks, (std::set{0, 1, 2, 3})) << run.err;
}

INSTANTIATE_TEST_SUITE_P(RanksPerNode, FirstRankBeforeItsFirstOperation, testing::ValuesIn(ranks_per_node));

TEST(TimeoutOfMessages, NamesTheOtherSide) {
    if (!can_run_mpi()) GTEST_SKIP() << "DTRAIN_TEST_MPIRUN and DTRAIN_TEST_SCENARIOS name no programs";
    const auto run = under_mpirun(2, "message", {{"DTRAIN_COMM_TIMEOUT", "2"}});
    const auto all = reports_in(run.err);
    ASSERT_FALSE(all.empty()) << run.err;
    EXPECT_EQ(all[0].rank, 0);
    EXPECT_EQ(all[0].operation, "receive");
    EXPECT_EQ(all[0].missing, " 1");
}

TEST(TimeoutOfMessages, OfAnyRankSaysSo) {
    if (!can_run_mpi()) GTEST_SKIP() << "DTRAIN_TEST_MPIRUN and DTRAIN_TEST_SCENARIOS name no programs";
    const auto run = under_mpirun(2, "message_of_any", {{"DTRAIN_COMM_TIMEOUT", "2"}});
    const auto all = reports_in(run.err);
    ASSERT_FALSE(all.empty()) << run.err;
    EXPECT_EQ(all[0].rank, 0);
    EXPECT_EQ(all[0].operation, "receive_any");
    EXPECT_EQ(all[0].missing, " 1");
    EXPECT_THAT(all[0].message, HasSubstr("s for a message from any rank, of them rank 1 (" + in_none + ")"));
}

TEST(TimeoutOfSubsets, NamesTheListedRankThatDoesNotCome) {
    if (!can_run_mpi()) GTEST_SKIP() << "DTRAIN_TEST_MPIRUN and DTRAIN_TEST_SCENARIOS name no programs";
    const auto run = under_mpirun(2, "subset", {{"DTRAIN_COMM_TIMEOUT", "2"}});
    const auto all = reports_in(run.err);
    ASSERT_FALSE(all.empty()) << run.err;
    EXPECT_EQ(all[0].rank, 0);
    EXPECT_EQ(all[0].operation, "subset");
    EXPECT_EQ(all[0].missing, " 1");
    EXPECT_THAT(all[0].message, HasSubstr("rank 1 (" + in_none + ")"));
}

TEST(ParallelEnvironment, IsAWorldOfOneWithoutALauncher) {
    if (!can_run_mpi()) GTEST_SKIP() << "DTRAIN_TEST_MPIRUN and DTRAIN_TEST_SCENARIOS name no programs";
    const auto run = alone("environment");
    EXPECT_EQ(run.status, ExitStatus{}) << run.err;
    EXPECT_EQ(run.out, "rank 0 of 1, 0 of 1 on 1 node(s), cpu, sum 1\n");
}

TEST(ParallelEnvironment, KnowsItsRanksAndItsGpu) {
    if (!can_run_mpi()) GTEST_SKIP() << "DTRAIN_TEST_MPIRUN and DTRAIN_TEST_SCENARIOS name no programs";
    const auto run =
        under_mpirun(3, "environment", {{"DTRAIN_RANKS_PER_NODE", "2"}, {"FLAGS_selected_gpus", "3,4"}});
    EXPECT_EQ(run.status, ExitStatus{}) << run.err;
    EXPECT_THAT(run.out, HasSubstr("rank 1 of 3, 1 of 2 on 2 node(s), gpu:3, sum 3\n"));
    EXPECT_THAT(run.out, HasSubstr("rank 2 of 3, 0 of 1 on 2 node(s), gpu:3, sum 3\n"));
}

TEST(ParallelEnvironment, TellsTheOthersWhenOneRankFails) {
    if (!can_run_mpi()) GTEST_SKIP() << "DTRAIN_TEST_MPIRUN and DTRAIN_TEST_SCENARIOS name no programs";
    const auto run = under_mpirun(2, "environment", {}, "fail");
    EXPECT_EQ(run.status, ExitStatus{.code = 6}) << run.err;  // what main() returned
    EXPECT_THAT(run.err, HasSubstr("caught: one rank fails"));
}

}  // namespace
}  // namespace dtrain
