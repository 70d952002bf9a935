// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what rank 1 of three had called when it answered. That of gloo is as torch 2.15 and
// python/dtrain/_torch_records.py sent it, with fewer entries; those of NCCL are written after the format
// that torch documents for its flight recorder.
#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trace/hang_diagnosis.hpp"
#include "trace/operation_listing.hpp"
#include "trace/torch_record.hpp"

namespace dtrain::trace {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::chrono::nanoseconds time_of_answer = 1'795'734'290'000'000'000ns;

constexpr const char* of_gloo =
    R"({"stacks": "Thread 140336693635968: \"MainThread\"\n    broadcast (lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:4055)\n    wrapper (lib/python3.11/site-packages/torch/distributed/c10d_logger.py:83)\n    <module> (train.py:21)\n",
"waiting": {"name": "broadcast", "is_message": false, "process_group": ["0", "default_pg"], "peer": 2, "tag": 0, "count": 1000, "type": "float32"},
"dumps": [{"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}, "1": {"name": "1", "desc": "pair", "ranks": "[2, 1]"}}, "entries": [
{"process_group": ["0", "default_pg"], "collective_seq_id": 1, "p2p_seq_id": 0, "is_p2p": false, "profiling_name": "gloo:all_reduce", "time_created_ns": 1795734286789495370, "input_sizes": [[10, 100]], "input_dtypes": ["Float"], "output_sizes": [[10, 100]], "output_dtypes": ["Float"], "state": "scheduled", "retired": true, "frames": [{"name": "all_reduce", "filename": "lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", "line": 4174}, {"name": "wrapper", "filename": "lib/python3.11/site-packages/torch/distributed/c10d_logger.py", "line": 83}, {"name": "<module>", "filename": "train.py", "line": 18}]},
{"process_group": ["1", "pair"], "collective_seq_id": 1, "p2p_seq_id": 0, "is_p2p": false, "profiling_name": "gloo:barrier", "time_created_ns": 1795734286790000000, "input_sizes": [], "input_dtypes": [], "output_sizes": [], "output_dtypes": [], "state": "scheduled", "retired": true, "frames": [{"name": "<module>", "filename": "train.py", "line": 19}]},
{"process_group": ["0", "default_pg"], "collective_seq_id": 2, "p2p_seq_id": 0, "is_p2p": false, "profiling_name": "gloo:broadcast", "time_created_ns": 1795734287000000000, "input_sizes": [[1000]], "input_dtypes": ["Float"], "output_sizes": [[1000]], "output_dtypes": ["Float"], "state": "scheduled", "retired": false, "frames": [{"name": "broadcast", "filename": "lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", "line": 4049}, {"name": "<module>", "filename": "train.py", "line": 21}]}]}]})";

struct Call {
    std::string title = "nccl:all_reduce";
    int number = 1;
    std::string state = "completed";
    bool is_message = false;
    std::string sizes = "[[8]]";
    std::string group = R"(["0", "default_pg"])";
    std::string output_sizes = "[[8]]";
    bool is_retired = false;
    std::string ended = "null";
};

/// An answer whose main thread is at train.py:30, outside of torch.
std::string answer(const std::vector<Call>& calls, const std::string& waiting = "null") {
    std::string entries;
    for (const auto& call : calls)
        entries += fmt::format(
            R"({}{{"process_group": {}, "collective_seq_id": {}, "p2p_seq_id": {}, "is_p2p": {}, "profiling_name": "{}", )"
            R"("time_created_ns": {}, "input_sizes": {}, "input_dtypes": ["BFloat16"], "output_sizes": {}, )"
            R"("output_dtypes": ["BFloat16"], "state": "{}", "retired": {}, "time_discovered_completed_ns": {}}})",
            entries.empty() ? "" : ", ", call.group, call.is_message ? 0 : call.number,
            call.is_message ? call.number : 0, call.is_message, call.title,
            1'795'734'286'000'000'000 + call.number, call.sizes, call.output_sizes, call.state,
            call.is_retired, call.ended);
    return fmt::format(
        R"({{"stacks": "Thread 1: \"MainThread\"\n    step (train.py:30)\n", "waiting": {}, "dumps": [{{"version": "2.4",)"
        R"( "pg_config": {{"0": {{"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2]"}}, )"
        R"("7": {{"name": "7", "desc": "undefined", "ranks": "[4, 6]"}}}}, "entries": [{}]}}]}})",
        waiting, entries);
}

TorchRecord record_of(const std::string& text) {
    return read_torch_record(text, time_of_answer).value_or(TorchRecord());
}

TEST(TorchRecord, HasWhatGlooWasCalledFor) {
    const auto record = record_of(of_gloo);
    EXPECT_THAT(record.groups,
                ElementsAre(Group{.name = "default_pg", .last_number = 2, .size = 3},
                            Group{.name = "pair (group 1)", .last_number = 1, .members = {2, 1}, .size = 2}));
    EXPECT_THAT(record.operations, ElementsAre(Operation{.group = "default_pg",
                                                         .number = 1,
                                                         .name = "all_reduce",
                                                         .type = "float32",
                                                         .source = "train.py:18",
                                                         .count = 1000,
                                                         .has_ended = true},
                                               Operation{.group = "pair (group 1)",
                                                         .number = 1,
                                                         .name = "barrier",
                                                         .source = "train.py:19",
                                                         .has_ended = true},
                                               Operation{.group = "default_pg",
                                                         .number = 2,
                                                         .name = "broadcast",
                                                         .type = "float32",
                                                         .source = "train.py:21",
                                                         .count = 1000,
                                                         .peer = 2,
                                                         .waited = 3000ms}));
    EXPECT_THAT(record.stacks, HasSubstr("    <module> (train.py:21)\n"));
}

TEST(TorchRecord, AllThatIsInTheDumpCanBeListed) {
    EXPECT_EQ(operation_listing(record_of(of_gloo).all),
              "all_reduce 1 (float32 x 1000) of default_pg at train.py:18: began 3.211 s ago, has ended\n"
              "barrier 1 of pair (group 1) at train.py:19: began 3.210 s ago, has ended\n"
              "broadcast 2 (float32 x 1000) of default_pg at train.py:21: began 3.000 s ago, goes on, waited "
              "for since 3.00 s\n");
    EXPECT_EQ(operation_listing(record_of(answer({{.number = 2, .ended = "1795734286500000002"}})).all),
              "all_reduce 2 (bfloat16 x 8) of default_pg: began 4.000 s ago, took 500.000 ms\n");
}

TEST(TorchRecord, HasAMessageOfGlooFromTheCallThatIsBlocked) {
    const auto record =
        record_of(answer({}, R"({"name": "recv", "is_message": true, "process_group": ["7", "undefined"],)"
                             R"( "peer": 6, "tag": 3, "count": 5, "type": "int64"})"));
    ASSERT_THAT(record.operations, SizeIs(1));
    EXPECT_EQ(to_text(record.operations.front()),
              "recv from rank 6 (int64 x 5, tag 3) of group 7 at train.py:30");
    EXPECT_TRUE(record.operations.front().waited);
}

TEST(TorchRecord, AnOperationOfNcclEndsWhenItIsCompleted) {
    const auto record = record_of(answer({{.number = 1},
                                          {.number = 2, .state = "started", .is_retired = true},
                                          {.number = 3, .state = "scheduled"}}));
    EXPECT_THAT(record.operations,
                ElementsAre(Field(&Operation::has_ended, true), Field(&Operation::has_ended, false),
                            Field(&Operation::has_ended, false)));
    EXPECT_THAT(record.operations, testing::Each(Field(&Operation::type, "bfloat16")));
    EXPECT_THAT(record.operations,
                ElementsAre(Field(&Operation::waited, std::nullopt), Field(&Operation::waited, 3999ms),
                            Field(&Operation::waited, std::nullopt)))
        << "a GPU waits for the second, whatever the thread does";
}

TEST(TorchRecord, MessagesOfNcclNameRanksOfTheGroup) {
    const auto of = [](const std::string& title) {
        return record_of(answer(
            {{.title = title, .state = "started", .is_message = true, .group = R"(["7", "undefined"])"}}));
    };
    EXPECT_EQ(to_text(of("nccl:send 0->1").operations.at(0)), "send to rank 6 (bfloat16 x 8) of group 7");
    EXPECT_EQ(to_text(of("nccl:recv 1<-0").operations.at(0)), "recv from rank 4 (bfloat16 x 8) of group 7");
    EXPECT_EQ(to_text(of("nccl:recv 1<-?").operations.at(0)), "recv from any rank (bfloat16 x 8) of group 7");
    EXPECT_EQ(of("nccl:send 0->99").operations.at(0).peer, 99);
}

TEST(TorchRecord, CallsThatTorchMakesAsOneEndTogether) {
    const auto messages =
        record_of(answer({{.title = "nccl:send 0->1", .state = "scheduled", .is_message = true},
                          {.title = "nccl:recv 0<-2", .state = "scheduled", .is_message = true},
                          {.title = "nccl:coalesced", .state = "completed", .is_message = true}}));
    EXPECT_THAT(messages.operations, IsEmpty());
    const auto sums = record_of(answer({{.number = 1, .state = "scheduled"},
                                        {.number = 1, .state = "scheduled"},
                                        {.title = "nccl:coalesced", .number = 1, .sizes = "[]"}}));
    ASSERT_THAT(sums.operations, SizeIs(1));
    EXPECT_TRUE(sums.operations.front().has_ended);
}

TEST(TorchRecord, CountsWhatEveryRankHasEquallyMuch) {
    const auto count = [](const std::string& title, const std::string& sizes) {
        const auto record = record_of(answer({{.title = title, .sizes = sizes}}));
        return record.operations.empty() ? std::nullopt : record.operations.front().count;
    };
    EXPECT_EQ(count("nccl:all_reduce", "[[2, 3], [4]]"), 10U);
    EXPECT_EQ(count("nccl:all_reduce", "[[]]"), 1U) << "a scalar";
    EXPECT_EQ(count("nccl:all_reduce", "[[0]]"), 0U);
    EXPECT_EQ(count("nccl:_reduce_scatter_base", "[[24]]"), 8U) << "of the output";
    EXPECT_EQ(count("nccl:all_to_all", "[[24]]"), std::nullopt);
    EXPECT_EQ(count("nccl:all_reduce", "[[-1]]"), std::nullopt);
    EXPECT_EQ(count("nccl:all_reduce", "[[9000000000000000000, 9000000000000000000]]"), std::nullopt);
}

TEST(TorchRecord, KeepsTheLastOfEachGroupAndWhatGoesOn) {
    std::vector<Call> calls{{.number = 1, .state = "started"}};
    for (int number = 2; number <= 100; ++number) calls.push_back({.number = number});
    const auto record = record_of(answer(calls));
    ASSERT_THAT(record.operations, SizeIs(7));
    EXPECT_EQ(record.operations.front().number, 1U);
    EXPECT_EQ(record.operations.back().number, 100U);
    EXPECT_EQ(record.groups.at(0).last_number, 100U);
}

TEST(TorchRecord, HasRootsAndReductionsWhereTheyAreRecorded) {
    auto text = answer({{.title = "gloo:broadcast"}, {.title = "gloo:all_reduce", .number = 2}});
    const std::string first = R"("profiling_name": "gloo:broadcast")";
    text.insert(text.find(first), R"("root": 2, )");
    const std::string second = R"("profiling_name": "gloo:all_reduce")";
    text.insert(text.find(second), R"("reduction": "max", )");
    const auto record = record_of(text);
    ASSERT_THAT(record.operations, SizeIs(2));
    EXPECT_EQ(to_text(record.operations[0]), "broadcast 1 (bfloat16 x 8, root 2) of default_pg");
    EXPECT_EQ(to_text(record.operations[1]), "all_reduce 2 (bfloat16 x 8, max) of default_pg");
    EXPECT_EQ(record.recorder, "torch");
    text.insert(1, R"("recorder": "dtrain", )");
    EXPECT_EQ(record_of(text).recorder, "dtrain");
}

TEST(TorchRecord, DamagedOnesAreNone) {
    const std::string whole = of_gloo;
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(read_torch_record(whole.substr(0, size), time_of_answer)) << size;
    for (const auto* const text : {"[]", "3", "{}", R"({"stacks": 1, "waiting": null, "dumps": []})",
                                   R"({"stacks": "", "waiting": null, "dumps": [{}]})",
                                   R"({"stacks": "", "waiting": 7, "dumps": []})"})
        EXPECT_FALSE(read_torch_record(text, time_of_answer)) << text;
    EXPECT_FALSE(read_torch_record(answer({{.number = -1, .group = "[]"}}), time_of_answer));
    EXPECT_FALSE(read_torch_record(answer({{.sizes = R"([["x"]])"}}), time_of_answer));
    EXPECT_TRUE(read_torch_record(R"({"stacks": "", "waiting": null, "dumps": []})", time_of_answer));
}

RankState rank_with(int number, TorchRecord record) {
    return {.rank = number,
            .host = "node",
            .activity = Activity::sleeps,
            .groups = std::move(record.groups),
            .operations = std::move(record.operations)};
}

TEST(TorchRecord, TellsWhoCalledSomethingElseOnNccl) {
    const std::vector<Call> right{{.number = 1}, {.number = 2, .state = "started"}};
    const std::vector<Call> wrong{{.number = 1},
                                  {.title = "nccl:broadcast", .number = 2, .state = "scheduled"}};
    const auto found =
        diagnose_hang({rank_with(0, record_of(answer(right))), rank_with(1, record_of(answer(wrong))),
                       rank_with(2, record_of(answer(right)))});
    EXPECT_EQ(found.culprit,
              "rank 1 on node called broadcast 2 (bfloat16 x 8) of default_pg where ranks [0,2] called "
              "all_reduce 2 "
              "(bfloat16 x 8) of default_pg");
}

TEST(TorchRecord, TellsWhoIsBehindOnNccl) {
    const std::vector<Call> ahead{{.number = 1}, {.number = 2, .state = "started"}};
    const auto found = diagnose_hang({rank_with(0, record_of(answer(ahead))),
                                      rank_with(1, record_of(answer({{.number = 1}}))),
                                      rank_with(2, record_of(answer(ahead)))});
    EXPECT_THAT(found.culprits, ElementsAre(1));
    EXPECT_THAT(found.culprit, HasSubstr("has not called all_reduce 2 (bfloat16 x 8) of default_pg"));
}

}  // namespace
}  // namespace dtrain::trace
