// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the sentence that a person would say who sees the states of all ranks.
#include <chrono>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/hang_diagnosis.hpp"

namespace dtrain::trace {
namespace {

using Cause = HangDiagnosis::Cause;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

Operation all_reduce(std::uint64_t number) {
    return {.group = "dp",
            .number = number,
            .name = "all_reduce",
            .type = "float32",
            .reduction = "sum",
            .source = "train.py:88",
            .count = 1024,
            .has_ended = true};
}

Operation waits_in(Operation operation) {
    operation.has_ended = false;
    operation.waited = seconds(31);
    return operation;
}

RankState rank(int number, std::vector<Operation> operations, Activity activity = Activity::sleeps) {
    std::uint64_t last = 0;
    for (const auto& operation : operations)
        if (operation.group == "dp") last = std::max(last, operation.number);
    return {.rank = number,
            .host = "node" + std::to_string(number / 2),
            .pid = 100 + number,
            .activity = activity,
            .groups = {{.name = "dp", .last_number = last, .size = 4}},
            .operations = std::move(operations)};
}

std::vector<RankState> waiting_for_rank_2(Activity activity) {
    std::vector<RankState> states;
    for (const int number : {0, 1, 3})
        states.push_back(rank(number, {all_reduce(16), waits_in(all_reduce(17))}));
    auto late = rank(2, {all_reduce(16)}, activity);
    late.stack = {"sleep (threading.py:320)", "load (train.py:80)"};
    states.insert(states.begin() + 2, late);
    return states;
}

TEST(HangDiagnosis, NamesWhoHasNotCalledIt) {
    const auto found = diagnose_hang(waiting_for_rank_2(Activity::sleeps));
    EXPECT_EQ(found.cause, Cause::absent);
    EXPECT_THAT(found.culprits, ElementsAre(2));
    EXPECT_EQ(found.line(),
              "rank 2 on node1 has not called all_reduce 17 (float32 x 1024, sum) of dp at train.py:88: it "
              "sleeps in "
              "load (train.py:80), after all_reduce 16 (float32 x 1024, sum) of dp at train.py:88; ranks "
              "[0,1,3] wait in "
              "it for 31 s");
}

TEST(HangDiagnosis, SaysWhatKeepsIt) {
    EXPECT_THAT(diagnose_hang(waiting_for_rank_2(Activity::computes)).culprit,
                testing::HasSubstr("it computes in load (train.py:80)"));
    auto stopped = diagnose_hang(waiting_for_rank_2(Activity::is_stopped));
    EXPECT_EQ(stopped.cause, Cause::stopped);
    EXPECT_THAT(stopped.culprit,
                testing::StartsWith("rank 2 on node1 is stopped by a signal (\"kill -CONT 102\""));
    auto states = waiting_for_rank_2(Activity::is_in_kernel);
    states[2].file = "/nfs/data";
    const auto kernel = diagnose_hang(states);
    EXPECT_EQ(kernel.cause, Cause::in_kernel);
    EXPECT_THAT(kernel.culprit,
                testing::StartsWith("rank 2 on node1 waits for the system, for /nfs/data: it has "
                                    "not called all_reduce 17"));
    const auto ended = diagnose_hang({waiting_for_rank_2(Activity::sleeps)[0],
                                      waiting_for_rank_2(Activity::sleeps)[1],
                                      {.rank = 2, .host = "node1", .activity = Activity::has_ended},
                                      waiting_for_rank_2(Activity::sleeps)[3]});
    EXPECT_EQ(ended.cause, Cause::has_ended);
    EXPECT_THAT(ended.culprit,
                testing::StartsWith("rank 2 on node1 has ended: it has not called all_reduce 17"));
}

TEST(HangDiagnosis, NamesWhoHasNotStartedByNode) {
    auto states = waiting_for_rank_2(Activity::sleeps);
    const auto late = [&](int number, const std::string& host) {
        states.push_back({.rank = number, .host = host, .activity = Activity::has_not_started});
    };
    late(4, "node2");
    const auto one = diagnose_hang(states);
    EXPECT_EQ(one.cause, Cause::not_started);
    EXPECT_EQ(name_of(one.cause), "not_started");
    EXPECT_THAT(one.culprits, ElementsAre(4));
    EXPECT_EQ(one.line(),
              "rank 4 on node2 has not started; ranks [0,1,3] wait in all_reduce 17 (float32 x 1024, sum) of "
              "dp at train.py:88 for 31 s");
    for (const int number : {5, 6, 7}) late(number, "node3");
    EXPECT_EQ(diagnose_hang(states).culprit, "rank 4 on node2, ranks [5-7] on node3 have not started");
    for (const int number : {8, 9, 10, 11}) late(number, "node" + std::to_string(number));
    EXPECT_EQ(
        diagnose_hang(states).culprit,
        "rank 4 on node2, ranks [5-7] on node3, rank 8 on node8 and those of 3 more nodes have not started");
}

TEST(HangDiagnosis, SaysThatNoRankHasStarted) {
    std::vector<RankState> states;
    for (const int number : {0, 1})
        states.push_back({.rank = number, .host = "node1", .activity = Activity::has_not_started});
    const auto found = diagnose_hang(states);
    EXPECT_EQ(found.line(), "no rank has started");
    EXPECT_THAT(found.culprits, ElementsAre(0, 1));
}

TEST(HangDiagnosis, SaysWhoHoldsIt) {
    auto states = waiting_for_rank_2(Activity::is_stopped);
    states[2].held_by = "held by a debugger (gdb, pid 77)";
    const auto found = diagnose_hang(states);
    EXPECT_EQ(found.cause, Cause::stopped);
    EXPECT_THAT(found.culprit,
                testing::StartsWith("rank 2 on node1 is held by a debugger (gdb, pid 77): it has not "
                                    "called all_reduce 17"));
}

TEST(HangDiagnosis, DoesNotAccuseARankThatHasToldNothingWhenAnotherOneIsMissing) {
    auto states = waiting_for_rank_2(Activity::sleeps);
    states[0] = {.rank = 0, .host = "node0"};
    EXPECT_THAT(diagnose_hang(states).culprits, ElementsAre(2));
    states = waiting_for_rank_2(Activity::sleeps);
    states[2] = {.rank = 2, .host = "node1"};
    const auto only_one_left = diagnose_hang(states);
    EXPECT_THAT(only_one_left.culprits, ElementsAre(2));
    EXPECT_EQ(
        only_one_left.line(),
        "rank 2 on node1 has not told what it does; ranks [0,1,3] wait in all_reduce 17 (float32 x 1024, "
        "sum) of dp at train.py:88 for 31 s");
}

TEST(HangDiagnosis, NamesAnotherLength) {
    auto shorter = waits_in(all_reduce(17));
    shorter.count = 512;
    const auto found =
        diagnose_hang({rank(0, {waits_in(all_reduce(17))}), rank(1, {shorter}),
                       rank(2, {waits_in(all_reduce(17))}), rank(3, {waits_in(all_reduce(17))})});
    EXPECT_EQ(found.cause, Cause::sequence);
    EXPECT_THAT(found.culprits, ElementsAre(1));
    EXPECT_EQ(
        found.culprit,
        "rank 1 on node0 called all_reduce 17 (float32 x 512, sum) of dp at train.py:88 where ranks [0,2,3] "
        "called all_reduce 17 (float32 x 1024, sum) of dp at train.py:88");
}

TEST(HangDiagnosis, FollowsMessagesToTheirSender) {
    const Operation from_1{
        .kind = OperationKind::receive, .group = "dp", .name = "recv", .peer = 1, .tag = 3};
    const Operation from_2{.kind = OperationKind::receive, .group = "dp", .name = "recv", .peer = 2};
    auto computing = rank(2, {}, Activity::computes);
    computing.stack = {"forward (model.py:9)"};
    const auto found = diagnose_hang({rank(0, {waits_in(from_1)}), rank(1, {waits_in(from_2)}), computing});
    EXPECT_EQ(found.cause, Cause::absent);
    EXPECT_THAT(found.culprits, ElementsAre(2));
    EXPECT_EQ(found.culprit,
              "rank 2 on node1 has not sent what is waited for in recv from rank 2 of dp: it "
              "computes in forward (model.py:9)");
}

TEST(HangDiagnosis, SeesRanksThatWaitForEachOther) {
    const Operation from_1{.kind = OperationKind::receive, .group = "dp", .name = "recv", .peer = 1};
    const Operation from_0{.kind = OperationKind::receive, .group = "dp", .name = "recv", .peer = 0};
    const auto found = diagnose_hang({rank(0, {waits_in(from_1)}), rank(1, {waits_in(from_0)})});
    EXPECT_EQ(found.cause, Cause::circle);
    EXPECT_THAT(found.culprits, ElementsAre(0, 1));
    EXPECT_EQ(found.culprit,
              "ranks wait for each other: rank 0 on node0 waits in recv from rank 1 of dp for rank 1; rank 1 "
              "on node0 "
              "waits in recv from rank 0 of dp for rank 0");
}

TEST(HangDiagnosis, SeesProgramsThatPoll) {
    auto begun = all_reduce(17);
    begun.has_ended = false;
    const auto found =
        diagnose_hang({rank(0, {all_reduce(16), begun}, Activity::computes), rank(1, {all_reduce(16)})});
    EXPECT_EQ(found.cause, Cause::absent);
    EXPECT_THAT(found.culprits, ElementsAre(1));
    EXPECT_THAT(found.line(), testing::EndsWith("; rank 0 waits in it"));
}

TEST(HangDiagnosis, SaysWhenAllHaveCome) {
    const auto found =
        diagnose_hang({rank(0, {waits_in(all_reduce(17))}), rank(1, {waits_in(all_reduce(17))}),
                       rank(2, {waits_in(all_reduce(17))}), rank(3, {waits_in(all_reduce(17))})});
    EXPECT_EQ(found.cause, Cause::exchange);
    EXPECT_THAT(found.culprits, IsEmpty());
    EXPECT_THAT(found.culprit, testing::StartsWith("every rank has called all_reduce 17"));
}

TEST(HangDiagnosis, SaysWhichOperationDoesNotEndWhenOneRankIsInTheNextOne) {
    const auto found = diagnose_hang(
        {rank(0, {all_reduce(17), waits_in(all_reduce(18))}), rank(1, {waits_in(all_reduce(17))}),
         rank(2, {waits_in(all_reduce(17))}), rank(3, {waits_in(all_reduce(17))})});
    EXPECT_EQ(found.cause, Cause::exchange);
    EXPECT_THAT(found.culprit, testing::StartsWith("every rank has called all_reduce 17"));
}

TEST(HangDiagnosis, SaysWhenAllAreInOneCallByTheirStacks) {
    std::vector<RankState> states;
    for (int number = 0; number < 3; ++number)
        states.push_back(
            {.rank = number,
             .host = "node0",
             .activity = Activity::sleeps,
             .stack = {"barrier (torch/distributed/distributed_c10d.py:2806)", "step (train.py:88)"}});
    const auto found = diagnose_hang(states);
    EXPECT_EQ(found.cause, Cause::exchange);
    EXPECT_THAT(found.culprits, IsEmpty());
    EXPECT_THAT(found.culprit,
                testing::StartsWith("every rank is in barrier at train.py:88, and it does not end"));
    states[2].stack[1] = "step (train.py:90)";
    EXPECT_EQ(diagnose_hang(states).cause, Cause::unknown) << "perhaps of another group";
}

TEST(HangDiagnosis, ReadsStacksWhereNothingIsRecorded) {
    const std::vector<std::string> in_all_reduce{"all_reduce (torch/distributed/distributed_c10d.py:2806)",
                                                 "step (train.py:88)"};
    const std::vector<std::string> in_loop{"check (train.py:70)", "step (train.py:80)"};
    std::vector<RankState> states;
    for (int number = 0; number < 4; ++number)
        states.push_back({.rank = number,
                          .host = "node0",
                          .activity = number == 3 ? Activity::computes : Activity::sleeps,
                          .stack = number == 3 ? in_loop : in_all_reduce});
    const auto found = diagnose_hang(states);
    EXPECT_EQ(found.cause, Cause::absent);
    EXPECT_THAT(found.culprits, ElementsAre(3));
    EXPECT_EQ(found.line(),
              "rank 3 on node0 is not in all_reduce at train.py:88: it computes in check (train.py:70); "
              "ranks [0-2] wait in it");
    states[3].stack = {"broadcast (torch/distributed/distributed_c10d.py:2000)", "step (train.py:40)"};
    const auto differs = diagnose_hang(states);
    EXPECT_EQ(differs.cause, Cause::sequence);
    EXPECT_THAT(differs.culprits, ElementsAre(3));
    EXPECT_EQ(differs.culprit, "rank 3 on node0 is in broadcast at train.py:40, where the others are not");
}

TEST(HangDiagnosis, ReadsStacksWhereNoneOfWhatRanksHaveRecordedGoesOn) {
    std::vector<RankState> states;
    for (int number = 0; number < 3; ++number) {
        states.push_back(rank(number, {all_reduce(16)}));
        states.back().stack = {"monitored_barrier (torch/distributed/distributed_c10d.py:2806)",
                               "barrier (torch/distributed/distributed_c10d.py:4800)", "step (train.py:90)"};
    }
    states.push_back(waiting_for_rank_2(Activity::sleeps)[2]);
    states.back().rank = 3;
    const auto found = diagnose_hang(states);
    EXPECT_EQ(found.cause, Cause::absent);
    EXPECT_THAT(found.culprits, ElementsAre(3));
    EXPECT_EQ(found.line(),
              "rank 3 on node1 is not in barrier at train.py:90: it sleeps in load (train.py:80), after "
              "all_reduce 16 (float32 x 1024, sum) of dp at train.py:88; ranks [0-2] wait in it");
    states[0].operations.push_back(waits_in(all_reduce(17)));
    states[0].groups.front().last_number = 17;
    const auto recorded = diagnose_hang(states);
    EXPECT_THAT(recorded.culprits, ElementsAre(1, 2, 3)) << "what is recorded is sure";
}

TEST(HangDiagnosis, TakesStacksInMessagesForThoseThatDoNotCome) {
    const auto in = [](const std::string& call) {
        return std::vector{call + " (torch/distributed/distributed_c10d.py:2806)",
                           std::string("step (train.py:88)")};
    };
    std::vector<RankState> states;
    for (int number = 0; number < 3; ++number)
        states.push_back({.rank = number,
                          .host = "node0",
                          .activity = Activity::sleeps,
                          .stack = in(number < 2 ? "recv" : "barrier")});
    const auto found = diagnose_hang(states);
    EXPECT_THAT(found.culprits, ElementsAre(0, 1));
    EXPECT_EQ(found.line(),
              "ranks [0,1] are in recv at train.py:88, where the others are not; rank 2 waits in barrier at "
              "train.py:88");
    states[2].stack = in("recv");
    const auto of_all = diagnose_hang(states);
    EXPECT_EQ(of_all.cause, Cause::circle);
    EXPECT_THAT(of_all.culprits, ElementsAre(0, 1, 2));
    EXPECT_EQ(of_all.line(), "ranks wait for each other: ranks [0-2] wait in recv at train.py:88");
}

TEST(HangDiagnosis, SaysWhereRanksAreWhenNothingTells) {
    std::vector<RankState> states;
    for (int number = 0; number < 3; ++number)
        states.push_back(
            {.rank = number, .host = "node0", .activity = Activity::sleeps, .stack = {"nap (a.py:3)"}});
    const auto found = diagnose_hang(states);
    EXPECT_EQ(found.cause, Cause::unknown);
    EXPECT_EQ(found.line(), "ranks [0-2]: sleeps in nap (a.py:3)");
    EXPECT_EQ(diagnose_hang({}).line(), "nothing tells where its ranks are");
    states[1].activity = Activity::is_in_kernel;
    states[1].file = "/data/batch";
    const auto kernel = diagnose_hang(states);
    EXPECT_EQ(kernel.cause, Cause::in_kernel);
    EXPECT_EQ(kernel.line(), "rank 1 on node0 waits for the system, for /data/batch");
}

Operation broadcast(std::uint64_t number, int root) {
    return {.group = "dp", .number = number, .name = "broadcast", .source = "train.py:90", .peer = root};
}

TEST(HangDiagnosis, ARootThatIsNotKnownIsNotAnotherOne) {
    const auto ended = [](Operation operation) {
        operation.has_ended = true;
        return operation;
    };
    const std::vector ahead{ended(broadcast(16, -1)), waits_in(all_reduce(17))};
    const auto found = diagnose_hang({rank(0, ahead), rank(1, {waits_in(broadcast(16, 3))}), rank(2, ahead)});
    EXPECT_EQ(found.line(),
              "rank 1 on node0 waits in broadcast 16 (root 3) of dp at train.py:90, which the others have "
              "left; ranks "
              "[0,2] wait in all_reduce 17 (float32 x 1024, sum) of dp at train.py:88 for 31 s");
}

TEST(HangDiagnosis, NamesTheFirstThatItHasNotCalled) {
    auto states = waiting_for_rank_2(Activity::sleeps);
    states[0] = rank(0, {all_reduce(16), waits_in(broadcast(17, 0))});
    states[1] = rank(1, {all_reduce(16), broadcast(17, 0), waits_in(all_reduce(18))});
    states.pop_back();
    EXPECT_THAT(diagnose_hang(states).culprit,
                testing::HasSubstr("rank 2 on node1 has not called broadcast 17 (root 0) of dp"));
}

/// Of rank 2, which has called it, and waits on the host.
std::vector<RankState> waiting_for_gpu_of_rank_2(std::uint64_t number) {
    auto states = waiting_for_rank_2(Activity::sleeps);
    const auto gpu = waits_in({.kind = OperationKind::own_gpu, .group = "dp", .number = number});
    states[2] = rank(2, {all_reduce(16), waits_in(all_reduce(17)), gpu});
    return states;
}

TEST(HangDiagnosis, NamesWhoseGpuHasNotCome) {
    const auto found = diagnose_hang(waiting_for_gpu_of_rank_2(17));
    EXPECT_EQ(found.cause, Cause::absent);
    EXPECT_THAT(found.culprits, ElementsAre(2));
    EXPECT_EQ(found.line(),
              "rank 2 on node1 has not come to all_reduce 17 (float32 x 1024, sum) of dp at train.py:88: it "
              "waits for its GPU, which does not end what it computes; ranks [0,1,3] wait in it for 31 s");
}

TEST(HangDiagnosis, AGpuThatHasNotComeToALaterOperationIsNotToBlame) {
    auto states = waiting_for_gpu_of_rank_2(18);
    states[3] = rank(3, {all_reduce(16)});
    EXPECT_THAT(diagnose_hang(states).culprits, ElementsAre(3));
}

TEST(HangDiagnosis, NamesWhoseGpuHasNotComeToAMessage) {
    auto states = waiting_for_gpu_of_rank_2(17);
    for (const int other : {0, 1, 3})
        states[static_cast<std::size_t>(other)] = rank(
            other, {all_reduce(16),
                    waits_in({.kind = OperationKind::receive, .group = "dp", .name = "receive", .peer = 2})});
    EXPECT_THAT(diagnose_hang(states).culprit,
                testing::StartsWith("rank 2 on node1 has not sent what is waited for in receive from rank 2 "
                                    "of dp: it waits for its GPU, which does not end what it computes"));
}

TEST(HangDiagnosis, WhereGpusOfAllThatWaitDoNotComeWhoIsElsewhereIsNamed) {
    std::vector<RankState> states;
    for (const int number : {0, 1})
        states.push_back(
            rank(number, {waits_in(all_reduce(17)),
                          waits_in({.kind = OperationKind::own_gpu, .group = "dp", .number = 17})}));
    EXPECT_THAT(diagnose_hang(states).culprit, testing::StartsWith("every rank has called all_reduce 17"));
    states.push_back(rank(2, {all_reduce(16)}));
    EXPECT_THAT(diagnose_hang(states).culprit,
                testing::StartsWith("rank 2 on node1 has not called all_reduce 17"));
}

TEST(HangDiagnosis, OneWhoseRecordsAreMissingButWhichWaitsIsNotToBlame) {
    auto states = waiting_for_rank_2(Activity::sleeps);
    states[3].groups.clear();
    states[3].operations.clear();
    states[3].stack = {"all_reduce (torch/distributed/distributed_c10d.py:2700)", "step (train.py:88)"};
    EXPECT_THAT(diagnose_hang(states).culprits, ElementsAre(2));
}

}  // namespace
}  // namespace dtrain::trace
