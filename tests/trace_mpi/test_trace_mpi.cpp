// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the calls that mpi_scenarios.cpp makes, and MPI's rule that all ranks of a communicator make its
// collective calls in the same order.
#include <cstdlib>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/subprocess.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "trace_mpi/logged_calls.hpp"

namespace dtrain::tests {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::Field;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;
using testing::StartsWith;
using trace::OperationKind;

struct TracedRun {
    std::map<int, LoggedRank> ranks;
    ExitStatus status;
    std::string err;
};

std::string fixed(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

class TraceMpi : public testing::Test {
  protected:
    void SetUp() override {
        if (fixed("DTRAIN_TEST_MPIRUN").empty()) GTEST_SKIP() << "DTRAIN_TEST_MPIRUN names no mpirun";
    }

    static TracedRun traced(int ranks, const std::string& scenario, bool with_log = true) {
        const TemporaryFolder folder;
        ProcessOptions options;
        // Only the program is preloaded; a sanitizer wants to be the first library of all.
        options.environment.set("ASAN_OPTIONS", "detect_leaks=0:verify_asan_link_order=0");
        if (with_log) options.environment.set(trace::operation_log_variable, folder.path());
        options.argv = split(fixed("DTRAIN_TEST_MPIRUN"), ' ');
        for (const auto& word : {std::string("-np"), std::to_string(ranks), std::string("/usr/bin/env"),
                                 "LD_PRELOAD=" + fixed("DTRAIN_TEST_TRACE_MPI"),
                                 fixed("DTRAIN_TEST_SCENARIOS"), scenario, folder.path() + "/data.bin"})
            options.argv.push_back(word);
        const auto captured = run_and_capture(options, std::chrono::seconds(60));
        return {logged_ranks(folder.path()), captured.status, captured.err};
    }
};

class TraceMpiOnRanks : public TraceMpi, public testing::WithParamInterface<int> {
  protected:
    static TracedRun traced_well(const std::string& scenario) {
        auto run = traced(GetParam(), scenario);
        EXPECT_EQ(run.status, ExitStatus{}) << run.err;
        EXPECT_THAT(run.ranks, SizeIs(GetParam()));
        for (const auto& [rank, logged] : run.ranks)
            for (const auto& call : logged.calls)
                EXPECT_TRUE(call.has_ended && call.nanoseconds >= 0) << rank << ": " << call.text();
        return run;
    }
};

std::vector<std::string> with_start_and_end(std::vector<std::string> calls, int last_number) {
    calls.insert(calls.begin(), "MPI_Init 1 of MPI_COMM_WORLD");
    calls.push_back("MPI_Finalize " + std::to_string(last_number) + " of MPI_COMM_WORLD");
    return calls;
}

TEST_P(TraceMpiOnRanks, CollectivesAreNumberedInTheOrderOfTheirCommunicator) {
    const auto run = traced_well("collectives");
    const auto last = std::to_string(GetParam() - 1);
    const auto expected = with_start_and_end(
        {
            "MPI_Barrier 2 of MPI_COMM_WORLD",
            "MPI_Allreduce 3 of MPI_COMM_WORLD: int x 1, sum",
            "MPI_Bcast 4 of MPI_COMM_WORLD: double x 3, root " + last,
            "MPI_Reduce 5 of MPI_COMM_WORLD: int x 2, max, root 0",
            "MPI_Scan 6 of MPI_COMM_WORLD: int x 2, min",
            "MPI_Exscan 7 of MPI_COMM_WORLD: int x 2, product",
            "MPI_Reduce_scatter_block 8 of MPI_COMM_WORLD: int x 1, bitwise or",
            "MPI_Allgather 9 of MPI_COMM_WORLD: int x 2",
            "MPI_Allgather 10 of MPI_COMM_WORLD: int x 2",
            "MPI_Gather 11 of MPI_COMM_WORLD: int x 3, root 0",
            "MPI_Scatter 12 of MPI_COMM_WORLD: int x 3, root 0",
            "MPI_Alltoall 13 of MPI_COMM_WORLD: int x 4",
            "MPI_Allgatherv 14 of MPI_COMM_WORLD: int x ?",
            "MPI_Bcast 15 of MPI_COMM_WORLD: 8 bytes x 2, root 0",
            "MPI_Bcast 16 of MPI_COMM_WORLD: pair of ints x 1, root 0",
            "MPI_Iallreduce 17 of MPI_COMM_WORLD: int x 1, sum",
            "MPI_Ibarrier 18 of MPI_COMM_WORLD",
            "MPI_Ibcast 19 of MPI_COMM_WORLD: int x 1, root 0",
        },
        20);
    for (const auto& [rank, logged] : run.ranks) {
        EXPECT_THAT(logged.texts(), ElementsAreArray(expected)) << "rank " << rank;
        EXPECT_EQ(logged.completed, expected.size());
        EXPECT_THAT(logged.calls, Each(Field(&LoggedCall::source, StartsWith("mpi_scenarios+0x"))));
    }
}

TEST_P(TraceMpiOnRanks, MessagesHaveTheirPeers) {
    const auto run = traced_well("messages");
    const int size = GetParam();
    for (const auto& [rank, logged] : run.ranks) {
        const auto to = "to " + std::to_string((rank + 1) % size);
        const auto from = "from " + std::to_string((rank + size - 1) % size);
        const auto send_text = "MPI_Send of MPI_COMM_WORLD: char x 5, " + to + ", tag 7";
        const auto receive_text = "MPI_Recv of MPI_COMM_WORLD: char x 5, " + from + ", tag 7";
        EXPECT_THAT(logged.texts(), ElementsAreArray(with_start_and_end(
                                        {
                                            "MPI_Irecv of MPI_COMM_WORLD: int x 1, " + from + ", tag 7",
                                            "MPI_Isend of MPI_COMM_WORLD: int x 1, " + to + ", tag 7",
                                            "MPI_Sendrecv of MPI_COMM_WORLD: int x 1, " + from + ", tag 7",
                                            "MPI_Sendrecv of MPI_COMM_WORLD: int x 1, " + to + ", tag 7",
                                            // those with MPI_PROC_NULL are none
                                            "MPI_Isend of MPI_COMM_WORLD: int x 1, " + to + ", tag 7",
                                            "MPI_Probe of MPI_COMM_WORLD: " + from + ", tag -1",
                                            "MPI_Recv of MPI_COMM_WORLD: int x 1, from any, tag 7",
                                            receive_text,
                                            send_text,
                                            receive_text,
                                            send_text,
                                        },
                                        2)))
            << "rank " << rank;
    }
}

TEST_P(TraceMpiOnRanks, OperationsThatShareARequestEndAll) {
    const auto run = traced_well("many_requests");
    for (const auto& [rank, logged] : run.ranks) EXPECT_EQ(logged.completed, 2 + 2 * 50) << rank;
}

TEST_P(TraceMpiOnRanks, ACommunicatorHasTheSameNameOnAllItsRanks) {
    const auto run = traced_well("communicators");
    std::map<std::string, std::set<std::vector<int>>> ranks_of_name;
    for (const auto& [rank, logged] : run.ranks)
        for (const auto& group : logged.groups) {
            ranks_of_name[group.name].insert(group.job_ranks);
            EXPECT_EQ(group.job_ranks.at(static_cast<std::size_t>(group.rank)), rank) << group.name;
        }
    for (const auto& [name, ranks] : ranks_of_name) EXPECT_THAT(ranks, SizeIs(1)) << name;

    std::set<std::string> names;
    for (const auto& [name, ranks] : ranks_of_name) names.insert(name);
    const std::map<int, std::set<std::string>> expected{
        {1,
         {"MPI_COMM_WORLD", "MPI_COMM_SELF@0", "MPI_COMM_WORLD/1", "parity (MPI_COMM_WORLD/2)",
          "MPI_COMM_WORLD/2/1", "MPI_COMM_WORLD/3", "group 3@0"}},
        {2,
         {"MPI_COMM_WORLD", "MPI_COMM_SELF@0", "MPI_COMM_SELF@1", "MPI_COMM_WORLD/1",
          "parity (MPI_COMM_WORLD/2@0)", "parity (MPI_COMM_WORLD/2@1)", "MPI_COMM_WORLD/2@0/1",
          "MPI_COMM_WORLD/2@1/1", "MPI_COMM_WORLD/3@0", "group 3@1"}},
        {4,
         {"MPI_COMM_WORLD", "MPI_COMM_SELF@0", "MPI_COMM_SELF@1", "MPI_COMM_SELF@2", "MPI_COMM_SELF@3",
          "MPI_COMM_WORLD/1", "parity (MPI_COMM_WORLD/2@0)", "parity (MPI_COMM_WORLD/2@1)",
          "MPI_COMM_WORLD/2@0/1", "MPI_COMM_WORLD/2@1/1", "MPI_COMM_WORLD/3@0", "group 3@3"}}};
    EXPECT_EQ(names, expected.at(GetParam()));

    for (const auto& [rank, logged] : run.ranks) {
        const bool is_last = rank == GetParam() - 1;
        EXPECT_EQ(logged.calls.size(), 13U + (rank == 0 ? 1U : 0U) + (is_last ? 3U : 0U)) << rank;
    }
}

TEST_P(TraceMpiOnRanks, CommunicatorsWithoutRoomAreNotCounted) {
    const auto run = traced_well("many_communicators");
    for (const auto& [rank, logged] : run.ranks) {
        EXPECT_THAT(logged.groups, SizeIs(trace::log_groups));
        EXPECT_EQ(logged.groups.back().name, "other communicators");
        const auto& last_barrier = logged.calls.at(logged.calls.size() - 3);
        EXPECT_EQ(last_barrier.text(), "MPI_Barrier of other communicators");
        EXPECT_EQ(last_barrier.kind, OperationKind::other);
        EXPECT_EQ(logged.completed, 2U + 3 * 300);
    }
}

TEST_P(TraceMpiOnRanks, ACommunicatorOfUnknownOriginIsNamedByItsRanks) {
    const auto run = traced_well("unknown_communicator");
    const auto ranks = GetParam() == 1 ? "0" : "0-" + std::to_string(GetParam() - 1);
    for (const auto& [rank, logged] : run.ranks)
        EXPECT_EQ(logged.calls.at(1).text(), "MPI_Barrier 1 of communicator@" + ranks);
}

TEST_P(TraceMpiOnRanks, CallsByTheirProfilingNamesAreTheSame) {
    const auto run = traced_well("by_profiling_names");
    const auto expected =
        with_start_and_end({"MPI_Comm_dup 2 of MPI_COMM_WORLD", "MPI_Barrier 1 of MPI_COMM_WORLD/1",
                            "MPI_Comm_free 2 of MPI_COMM_WORLD/1"},
                           3);
    for (const auto& [rank, logged] : run.ranks)
        EXPECT_THAT(logged.texts(), ElementsAreArray(expected)) << "rank " << rank;
}

TEST_P(TraceMpiOnRanks, WindowsAndFilesAreGroupsOfTheirOwn) {
    const auto run = traced_well("windows_and_files");
    for (const auto& [rank, logged] : run.ranks)
        EXPECT_THAT(
            logged.texts(),
            ElementsAre(
                "MPI_Init 1 of MPI_COMM_WORLD", "MPI_Win_allocate 2 of MPI_COMM_WORLD",
                "MPI_Win_fence 1 of MPI_COMM_WORLD/window 1", "MPI_Win_fence 2 of MPI_COMM_WORLD/window 1",
                "MPI_Win_lock of MPI_COMM_WORLD/window 1: rank " + std::to_string((rank + 1) % GetParam()),
                "MPI_Win_unlock of MPI_COMM_WORLD/window 1: rank " + std::to_string((rank + 1) % GetParam()),
                "MPI_Win_free 3 of MPI_COMM_WORLD/window 1", "MPI_File_open 3 of MPI_COMM_WORLD",
                "MPI_File_write_at_all 1 of MPI_COMM_WORLD/file data.bin 2: int x ?",
                "MPI_File_sync 2 of MPI_COMM_WORLD/file data.bin 2", "MPI_Barrier 4 of MPI_COMM_WORLD",
                "MPI_File_sync 3 of MPI_COMM_WORLD/file data.bin 2",
                "MPI_File_read_at of MPI_COMM_WORLD/file data.bin 2: int x 1",
                "MPI_File_close 4 of MPI_COMM_WORLD/file data.bin 2", "MPI_Finalize 5 of MPI_COMM_WORLD"))
            << "rank " << rank;
}

TEST_P(TraceMpiOnRanks, ThreadsCountEachCommunicatorForItself) {
    const auto run = traced_well("threads");
    for (const auto& [rank, logged] : run.ranks) {
        EXPECT_EQ(logged.completed, 2U + 4 + 4 + 4 * 75 * 3);
        std::map<std::string, std::vector<std::uint64_t>> numbers;
        for (const auto& call : logged.calls)
            if (call.name == "MPI_Allreduce") numbers[call.group].push_back(call.number);
        std::vector<std::uint64_t> all(75);
        std::iota(all.begin(), all.end(), 1);
        EXPECT_THAT(numbers, ElementsAre(Pair("MPI_COMM_WORLD/1", all), Pair("MPI_COMM_WORLD/2", all),
                                         Pair("MPI_COMM_WORLD/3", all), Pair("MPI_COMM_WORLD/4", all)));
    }
}

TEST_P(TraceMpiOnRanks, ARankThatIsKilledLeavesWhatItWaitedFor) {
    const auto run = traced(GetParam(), "killed");
    EXPECT_FALSE(run.status.success());
    const auto& logged = run.ranks.at(GetParam() - 1);
    EXPECT_EQ(logged.calls.back().text(), "MPI_Recv of MPI_COMM_WORLD: int x 1, from 0, tag 42");
    EXPECT_TRUE(logged.calls.back().waits);
}

TEST_F(TraceMpi, WhatAThreadWaitsForGivesNotWayToLaterOperations) {
    const auto run = traced(1, "killed_beside_a_busy_thread");
    EXPECT_FALSE(run.status.success());
    EXPECT_EQ(run.ranks.at(0).calls.front().text(), "MPI_Recv of MPI_COMM_WORLD: int x 1, from 0, tag 42");
    EXPECT_TRUE(run.ranks.at(0).calls.front().waits);
}

TEST_F(TraceMpi, NothingIsWrittenUnlessItIsAskedFor) {
    const auto run = traced(2, "collectives", false);
    EXPECT_EQ(run.status, ExitStatus{}) << run.err;
    EXPECT_THAT(run.ranks, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Ranks, TraceMpiOnRanks, testing::Values(1, 2, 4), testing::PrintToStringParamName());

}  // namespace
}  // namespace dtrain::tests
