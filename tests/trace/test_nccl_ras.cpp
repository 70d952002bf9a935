// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what the answers say. They are written after the formats of NCCL's sources, JSON of 2.30.7 (since
// 2.28.7), text of 2.24.3 and of 2.26.2 to 2.30.7; none was recorded from NCCL.
#include <initializer_list>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/hang_diagnosis.hpp"
#include "trace/nccl_ras.hpp"

namespace dtrain::trace {
namespace {

using Cause = HangDiagnosis::Cause;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr int pid_of_rank_0 = 4100;
constexpr const char* before_json = "SERVER PROTOCOL 2\nOK\nOK\n";
constexpr const char* before_text = "SERVER PROTOCOL 2\nOK\nERROR: Unknown command SET FORMAT json\n";

/// Rank r of a job of two ranks per node.
NcclProcess process(int rank) {
    return {.host = fmt::format("10.0.0.{}", 1 + rank / 2), .pid = pid_of_rank_0 + rank};
}

std::optional<NcclView> view_of(int rank, const std::string& answer) {
    return read_nccl_ras(answer, [&](const NcclProcess& each) { return each == process(rank); });
}

struct RankStatus {
    int rank = 0;  ///< of the job
    int all_reduces = 0;
    int broadcasts = 0;
    bool finalizes = false;
};

std::string json_of(const std::vector<RankStatus>& statuses) {
    std::string ranks;
    for (std::size_t index = 0; index < statuses.size(); ++index)
        ranks += fmt::format(
            R"({}        {{
          "rank": {},
          "host": "{}",
          "pid": {},
          "cuda_dev": 0,
          "nvml_dev": {},
          "status": {{
            "init_state": 0,
            "async_error": 0,
            "finalize_called": {},
            "destroy_flag": false,
            "abort_flag": false
          }},
          "collective_counts": {{
            "Broadcast": {},
            "Reduce": 0,
            "AllGather": 0,
            "ReduceScatter": 0,
            "AllReduce": {}
          }}
        }})",
            index == 0 ? "" : ",\n", index, process(statuses[index].rank).host,
            process(statuses[index].rank).pid, index, statuses[index].finalizes, statuses[index].broadcasts,
            statuses[index].all_reduces);
    return ranks;
}

std::string json_of_missing(int rank, bool is_unresponsive, bool is_dead) {
    return fmt::format(R"(        {{
          "rank": {},
          "host": "{}",
          "pid": {},
          "cuda_dev": 0,
          "nvml_dev": 0,
          "status": {{
            "unresponsive": {},
            "considered_dead": {}
          }}
        }})",
                       rank, process(rank).host, process(rank).pid, is_unresponsive, is_dead);
}

std::string json_of(const std::string& number, int size, const std::vector<RankStatus>& statuses,
                    const std::string& missing = "") {
    return fmt::format(R"(    {{
      "hash": "0x{}",
      "secondary_hash": "0xb7e7187447156001:0xb8242ed28a71381e",
      "size": {},
      "ranks_count": {},
      "missing_ranks_count": {},
      "ranks": [
{}
      ],
      "missing_ranks": [
{}
      ]
    }})",
                       number, size, statuses.size(), size - static_cast<int>(statuses.size()),
                       json_of(statuses), missing);
}

std::string json_answer(std::initializer_list<std::string> communicators) {
    return fmt::format(R"({}{{
  "nccl_version": "2.30.7",
  "cuda_runtime_version": 13000,
  "cuda_driver_version": 13000,
  "timestamp": "2026-11-28 15:00:00",
  "communicators_count": {},
  "communicators": [
{}
  ],
  "ras": {{
    "collection_time_sec": 0.001,
    "timeouts_count": 0
  }}
}}
)",
                       before_json, communicators.size(), fmt::join(communicators, ",\n"));
}

std::string text_answer(const std::string& version, int size, const std::string& errors,
                        const std::string& warnings) {
    return fmt::format(R"({}NCCL version {} compiled with CUDA 12.8
CUDA runtime version 12080, driver version 12080

Job summary
===========

  Nodes  Processes         GPUs  Processes     GPUs
(total)   per node  per process    (total)  (total)
      2          2            1          4        4

Communicators... (0.00s)
=============

Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors
    #  in group  per comm  per node  per comm  in group
    0         1         2         2  {:8}         4   RUNNING  MISMATCH

Errors
======

{}Warnings
========

{})",
                       before_text, version, size, errors, warnings);
}

/// The states that the workers of the ranks would send, each asleep in a function of its own.
std::vector<RankState> states_with(const std::string& answer, int ranks) {
    std::vector<RankState> states;
    for (int rank = 0; rank < ranks; ++rank) {
        RankState state{.rank = rank,
                        .host = fmt::format("n{}", rank / 2),
                        .pid = process(rank).pid,
                        .activity = Activity::sleeps,
                        .stack = {fmt::format("f{} (train.py:{})", rank, 10 + rank)},
                        .nccl = view_of(rank, answer).value_or(NcclView())};
        states.push_back(parse_rank_state(to_json(state)).value_or(RankState()));
        EXPECT_EQ(states.back(), state);
    }
    return states;
}

HangDiagnosis diagnosis_of(const std::string& answer, int ranks = 4) {
    return diagnose_hang(states_with(answer, ranks));
}

/// All ranks are in one communicator, "a".
HangDiagnosis diagnosis_in_one(const std::vector<RankStatus>& statuses) {
    const auto ranks = static_cast<int>(statuses.size());
    return diagnosis_of(json_answer({json_of("a", ranks, statuses)}), ranks);
}

TEST(NcclRas, JsonTellsWhoHasLaunchedFewer) {
    const auto answer = json_answer({json_of("cf264af53edbe986", 4,
                                             {{.rank = 0, .all_reduces = 6650, .broadcasts = 3},
                                              {.rank = 1, .all_reduces = 6650, .broadcasts = 3},
                                              {.rank = 2, .all_reduces = 6649, .broadcasts = 3},
                                              {.rank = 3, .all_reduces = 6650, .broadcasts = 3}})});
    EXPECT_EQ(
        view_of(2, answer),
        (NcclView{.self = process(2),
                  .memberships = {{.communicator = "0xcf264af53edbe986",
                                   .size = 4,
                                   .counts = {{.kind = "AllReduce", .launched = 6649, .most = 6650}}}}}));
    const auto found = diagnosis_of(answer);
    EXPECT_EQ(found.cause, Cause::absent);
    EXPECT_EQ(
        found.line(),
        "rank 2 on n1 has not called AllReduce 6650 of NCCL communicator 0xcf264af53edbe986: it sleeps in "
        "f2 (train.py:12); ranks [0,1,3] wait in it");
}

TEST(NcclRas, AnswersOfOtherJobsAreNone) {
    const auto answer = json_answer({json_of("1", 1, {{.rank = 0}})});
    EXPECT_TRUE(view_of(0, answer));
    EXPECT_FALSE(view_of(1, answer));
    // The same pid on another node.
    EXPECT_FALSE(read_nccl_ras(answer, [](const NcclProcess& each) {
        return each == NcclProcess{.host = "10.0.0.9", .pid = pid_of_rank_0};
    }));
}

TEST(NcclRas, FollowsCommunicatorsToWhomAllWaitFor) {
    // Ranks 0 and 1, and 2 and 3, sum in pairs; then 0 and 2, and 1 and 3. Rank 3 sleeps before its pair's
    // sum.
    const auto found = diagnosis_of(
        json_answer({json_of("a0", 2, {{.rank = 0, .all_reduces = 5}, {.rank = 1, .all_reduces = 5}}),
                     json_of("a2", 2, {{.rank = 2, .all_reduces = 5}, {.rank = 3, .all_reduces = 4}}),
                     json_of("b0", 2, {{.rank = 0, .all_reduces = 5}, {.rank = 2, .all_reduces = 4}}),
                     json_of("b1", 2, {{.rank = 1, .all_reduces = 5}, {.rank = 3, .all_reduces = 4}})}));
    EXPECT_THAT(found.culprits, ElementsAre(3));
    EXPECT_THAT(found.culprit, StartsWith("rank 3 on n1 has not called AllReduce 5 of NCCL communicator 0x"));
    EXPECT_THAT(found.waiting,
                testing::UnorderedElementsAre(
                    testing::EndsWith("rank 0 waits in AllReduce 5 of NCCL communicator 0xb0"),
                    testing::HasSubstr("rank 1 waits in"), testing::HasSubstr("rank 2 waits in")));
}

TEST(NcclRas, SeesRanksThatUseTwoCommunicatorsInAnotherOrder) {
    const auto found = diagnosis_of(
        json_answer({json_of("a", 2, {{.rank = 0, .all_reduces = 8}, {.rank = 1, .all_reduces = 7}}),
                     json_of("b", 2, {{.rank = 0, .all_reduces = 7}, {.rank = 1, .all_reduces = 8}})}),
        2);
    EXPECT_EQ(found.cause, Cause::circle);
    EXPECT_EQ(
        found.culprit,
        "ranks wait for each other: rank 0 on n0 waits in AllReduce 8 of NCCL communicator 0xa for rank 1; "
        "rank 1 on n0 waits in AllReduce 8 of NCCL communicator 0xb for rank 0");
}

TEST(NcclRas, NamesAnotherOperation) {
    const auto found = diagnosis_in_one({{.rank = 0, .all_reduces = 7, .broadcasts = 1},
                                         {.rank = 1, .all_reduces = 6, .broadcasts = 2},
                                         {.rank = 2, .all_reduces = 7, .broadcasts = 1},
                                         {.rank = 3, .all_reduces = 7, .broadcasts = 1}});
    EXPECT_EQ(found.cause, Cause::sequence);
    EXPECT_THAT(found.culprits, ElementsAre(1));
    EXPECT_EQ(
        found.culprit,
        "rank 1 on n0 called Broadcast 2 of NCCL communicator 0xa where ranks [0,2,3] called AllReduce 7 of "
        "NCCL communicator 0xa");
}

TEST(NcclRas, OfTwoDifferentOperationsNoneIsRight) {
    const auto found = diagnosis_in_one(
        {{.rank = 0, .all_reduces = 7, .broadcasts = 1}, {.rank = 1, .all_reduces = 6, .broadcasts = 2}});
    EXPECT_EQ(found.cause, Cause::sequence);
    EXPECT_THAT(found.culprits, testing::UnorderedElementsAre(0, 1));
}

TEST(NcclRas, WhoIsBehindInAllHasNotCalledAnotherOperation) {
    const auto found = diagnosis_in_one({{.rank = 0, .all_reduces = 10, .broadcasts = 5},
                                         {.rank = 1, .all_reduces = 9, .broadcasts = 5},
                                         {.rank = 2, .all_reduces = 9, .broadcasts = 4}});
    EXPECT_EQ(found.cause, Cause::absent);
    EXPECT_THAT(found.culprits, ElementsAre(2));
}

TEST(NcclRas, NamesWhoHasLeftACommunicator) {
    const std::vector<RankStatus> others{{.rank = 0, .all_reduces = 5}, {.rank = 1, .all_reduces = 5}};
    const auto* const sentence =
        "rank 2 on n1 has left NCCL communicator 0xa, which ranks [0,1] are in: it sleeps in f2 "
        "(train.py:12)";
    const auto destroyed =
        diagnosis_of(json_answer({json_of("a", 3, others, json_of_missing(2, false, false))}), 3);
    EXPECT_THAT(destroyed.culprits, ElementsAre(2));
    EXPECT_EQ(destroyed.culprit, sentence);
    auto with_it = others;
    with_it.push_back({.rank = 2, .all_reduces = 5, .finalizes = true});
    EXPECT_EQ(diagnosis_in_one(with_it).culprit, sentence);
    const auto text =
        text_answer("2.26.2", 3, "",
                    "#0-0 (000000000000000a) MISMATCH\n"
                    "  Communicator ranks have different status\n"
                    "  2 ranks have status RUNNING\n"
                    "  Rank 2 has status NOCOMM -- GPU 0 managed by process 4102 on node 10.0.0.2\n");
    EXPECT_EQ(diagnosis_of(text, 3).culprit, sentence);
}

TEST(NcclRas, NamesWhomTheOthersDoNotReach) {
    // The processes of each node count those of the other one as dead.
    const auto of_first_node =
        json_answer({json_of("a", 4, {{.rank = 0}, {.rank = 1}},
                             json_of_missing(2, true, true) + ",\n" + json_of_missing(3, true, true))});
    const auto of_second_node =
        json_answer({json_of("a", 4, {{.rank = 2}, {.rank = 3}},
                             json_of_missing(0, true, true) + ",\n" + json_of_missing(1, true, true))});
    auto states = states_with(of_first_node, 2);
    const auto others = states_with(of_second_node, 4);
    states.insert(states.end(), others.begin() + 2, others.end());
    const auto lost = diagnose_hang(states);
    EXPECT_EQ(lost.cause, Cause::exchange);
    EXPECT_EQ(lost.culprit,
              "the processes of ranks [0-3] run, and NCCL does not reach them from the others: a network");
    states[3].nccl.dead.clear();
    states[2].nccl.dead.clear();
    const auto one_side = diagnose_hang(states);
    EXPECT_THAT(one_side.culprits, ElementsAre(2, 3));
    EXPECT_EQ(
        one_side.culprit,
        "rank 2 on n1 sleeps in f2 (train.py:12); rank 3 on n1 sleeps in f3 (train.py:13), and NCCL does not "
        "reach their processes from the others");
}

TEST(NcclRas, ReadsWhoIsDeadInText) {
    const auto answer =
        text_answer("2.27.3", 4,
                    "INCOMPLETE\n"
                    "  Missing communicator data from 1 job process\n"
                    "  Process 4101 on node 10.0.0.1 managing GPU 1\n\n"
                    "DEAD\n"
                    "  1 job process is considered dead (unreachable via the RAS network)\n"
                    "  Process 4103 on node 10.0.0.2 managing GPU 1\n\n"
                    "#0-0 (00000000000000ab) INCOMPLETE\n"
                    "  Missing communicator data from 2 ranks\n"
                    "  Rank 1 -- GPU 1 managed by process 4101 on node 10.0.0.1\n"
                    "  Rank 3 -- GPU 1 managed by process 4103 on node 10.0.0.2\n\n",
                    "TIMEOUT\n  Encountered 2 communication timeouts while gathering communicator "
                    "data\n\n");
    const auto view = view_of(0, answer);
    ASSERT_TRUE(view);
    EXPECT_THAT(view->dead, ElementsAre(process(3)));
    EXPECT_EQ(view_of(3, answer)->self, process(3));
}

constexpr const char* one_behind =
    "#0-0 (cf264af53edbe986) MISMATCH\n"
    "  Communicator ranks have different AllReduce operation counts\n"
    "  3 ranks have launched up to operation 6650\n"
    "  Rank 2 has launched up to operation 6649 -- GPU 0 (NVML 2) managed by process 4102 on node "
    "10.0.0.2\n\n";

TEST(NcclRas, TextTellsWhoHasLaunchedFewer) {
    const auto answer = text_answer("2.26.2", 4, "", one_behind);
    EXPECT_EQ(view_of(2, answer), (NcclView{.self = process(2),
                                            .memberships = {{.communicator = "0xcf264af53edbe986",
                                                             .size = 4,
                                                             .counts = {{.kind = "AllReduce",
                                                                         .launched = 6649,
                                                                         .most = 6650,
                                                                         .unnamed = 3,
                                                                         .by_unnamed = 6650}}}}}));
    EXPECT_EQ(view_of(0, answer), NcclView());
    EXPECT_EQ(
        diagnosis_of(answer).line(),
        "rank 2 on n1 has not called AllReduce 6650 of NCCL communicator 0xcf264af53edbe986: it sleeps in "
        "f2 (train.py:12); ranks [0,1,3] wait in it");
}

TEST(NcclRas, TextOfApartOfTheJobDoesNotTellWhoWaits) {
    const auto found = diagnosis_of(text_answer("2.26.2", 4, "", one_behind), 6);
    EXPECT_THAT(found.culprits, ElementsAre(2));
    EXPECT_EQ(
        found.line(),
        "rank 2 on n1 has not called AllReduce 6650 of NCCL communicator 0xcf264af53edbe986, which 3 other "
        "ranks have: it sleeps in f2 (train.py:12)");
}

TEST(NcclRas, TextNamesTheRanksOfASmallParty) {
    const auto answer = text_answer("2.30.7", 5, "",
                                    "#0-0 (cf264af53edbe986) MISMATCH\n"
                                    "  Communicator ranks have different Broadcast operation counts\n"
                                    "  3 ranks have launched up to operation 7\n"
                                    "  2 ranks have not launched any operations\n"
                                    "  Rank 1 -- GPU 1 managed by process 4101 on node 10.0.0.1\n"
                                    "  Rank 2 -- GPU 0 managed by process 4102 on node 10.0.0.2\n\n");
    const auto found = diagnosis_of(answer, 5);
    EXPECT_THAT(found.culprits, ElementsAre(1, 2));
    EXPECT_THAT(found.line(), StartsWith("rank 1 on n0 has not called Broadcast 1 of NCCL communicator"));
    EXPECT_THAT(found.line(), testing::EndsWith("; ranks [0,3,4] wait in Broadcast 1 of NCCL communicator "
                                                "0xcf264af53edbe986"));
}

TEST(NcclRas, TextOfTheFirstVersionsCountsAllKindsTogether) {
    const auto answer = text_answer(
        "2.24.3", 4, "",
        "#0-0 (cf264af53edbe986) MISMATCH\n"
        "  Communicator ranks have different collective operation counts\n"
        "  3 ranks have launched up to operation 6650\n"
        "  Rank 2 has launched up to operation 6649 -- GPU 0 managed by process 4102 on node 10.0.0.2\n\n");
    EXPECT_THAT(
        diagnosis_of(answer).line(),
        StartsWith("rank 2 on n1 has not called operation 6650 of NCCL communicator 0xcf264af53edbe986"));
}

TEST(NcclRas, HalvesThatAreNotNamedAccuseNobody) {
    const auto answer = text_answer("2.26.2", 4, "",
                                    "#0-0 (cf264af53edbe986) MISMATCH\n"
                                    "  Communicator ranks have different AllReduce operation counts\n"
                                    "  2 ranks have launched up to operation 6650\n"
                                    "  2 ranks have launched up to operation 6649\n\n");
    EXPECT_EQ(diagnosis_of(answer).cause, Cause::unknown);
}

TEST(NcclRas, AJobWithoutDifferencesIsNotAccused) {
    const auto found = diagnosis_in_one({{.rank = 0, .all_reduces = 9}, {.rank = 1, .all_reduces = 9}});
    EXPECT_THAT(found.culprits, IsEmpty());
    EXPECT_EQ(found.cause, Cause::unknown);
}

TEST(NcclRas, WhatRanksHaveRecordedComesFirst) {
    auto states =
        states_with(json_answer({json_of("a", 2, {{.rank = 0, .all_reduces = 5}, {.rank = 1}})}), 2);
    const Operation sum{.group = "dp", .number = 4, .name = "all_reduce", .waited = std::chrono::seconds(9)};
    states[1].groups = {{.name = "dp", .last_number = 4, .size = 2}};
    states[1].operations = {sum};
    states[0].groups = {{.name = "dp", .last_number = 3, .size = 2}};
    const auto found = diagnose_hang(states);
    EXPECT_THAT(found.culprits, ElementsAre(0));
    EXPECT_THAT(found.culprit, StartsWith("rank 0 on n0 has not called all_reduce 4 of dp"));
}

TEST(NcclRas, WhoIsStoppedIsNamedWithoutCounts) {
    auto states = states_with(
        json_answer({json_of("a", 3, {{.rank = 0, .all_reduces = 5}, {.rank = 1, .all_reduces = 5}},
                             json_of_missing(2, true, false))}),
        3);
    states[2].activity = Activity::is_stopped;
    EXPECT_EQ(diagnose_hang(states).cause, Cause::stopped);
    EXPECT_THAT(diagnose_hang(states).culprits, ElementsAre(2));
}

TEST(NcclRas, PassesOverWhatItDoesNotKnow) {
    const auto view = view_of(0, R"({"communicators": [{"hash": "0xab", "size": 2, "new": [1, {}], "ranks": [
            {"rank": 0, "host": "10.0.0.1", "pid": 4100, "collective_counts": {"AllReduce": 1, "AllToAll": 2, "x": "y", "a b": 1}},
            {"rank": 1, "host": "10.0.0.1", "pid": 4101, "status": {"init_state": "new"}, "collective_counts": {"AllReduce": 2, "AllToAll": 2, "a b": 7}}]},
            {"hash": "0xab; rm -rf /", "size": 2, "ranks": [{"rank": 0, "host": "10.0.0.1", "pid": 4100}]}]})");
    ASSERT_TRUE(view);
    ASSERT_THAT(view->memberships, SizeIs(1));
    EXPECT_THAT(view->memberships[0].counts,
                ElementsAre(NcclCount{.kind = "AllReduce", .launched = 1, .most = 2}));
}

TEST(NcclRas, OfSeveralGpusOfAProcessTheLastOneCounts) {
    const auto view = view_of(
        0,
        json_answer({json_of(
            "a", 3,
            {{.rank = 0, .all_reduces = 9}, {.rank = 0, .all_reduces = 8}, {.rank = 1, .all_reduces = 9}})}));
    ASSERT_TRUE(view);
    EXPECT_THAT(view->memberships[0].counts,
                ElementsAre(NcclCount{.kind = "AllReduce", .launched = 8, .most = 9}));
}

TEST(NcclRas, WhatIsNoAnswerTellsNothing) {
    const auto answer = json_answer({json_of("a", 2, {{.rank = 0, .all_reduces = 9}, {.rank = 1}})});
    for (const auto& text :
         {std::string(), std::string("HTTP/1.1 400 Bad Request\r\n\r\n"), std::string(before_json),
          std::string("{"), std::string("{}"), std::string("{\"communicators\": 3}"),
          std::string("{\"communicators\": [{\"hash\": 7}]}"),
          std::string("{\"communicators\": [{\"hash\": \"0xa\", \"ranks\": [{\"pid\": \"x\"}]}]}"),
          std::string(100'000, '['), std::string(1'000, '\0'), "{" + std::string(100'000, '[')})
        EXPECT_FALSE(view_of(0, text)) << text.substr(0, 40);
    for (std::size_t size = 0; size + 2 < answer.size(); size += 7)
        EXPECT_FALSE(view_of(0, answer.substr(0, size))) << size;
    const auto text = text_answer("2.26.2", 4, "", one_behind);
    for (std::size_t size = 0; size < text.size(); size += 7) view_of(2, text.substr(0, size));
}

TEST(NcclRas, StatesStayShort) {
    RankState state{.nccl = {.self = process(0)}};
    for (int number = 0; number < 100; ++number)
        state.nccl.memberships.push_back({.communicator = fmt::format("0x{:x}", number),
                                          .size = 8,
                                          .counts = {{.kind = "AllReduce", .launched = 1, .most = 2}}});
    constexpr std::size_t limit = 1000;
    const auto text = to_json(state, limit);
    EXPECT_LE(text.size(), limit);
    const auto read = parse_rank_state(text);
    ASSERT_TRUE(read);
    ASSERT_FALSE(read->nccl.memberships.empty());
    EXPECT_EQ(read->nccl.memberships.front(), state.nccl.memberships.front());
}

}  // namespace
}  // namespace dtrain::trace
