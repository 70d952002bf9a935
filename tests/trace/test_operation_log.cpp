// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what was written is what is read, by another process, after SIGKILL, and while it is being written.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/temporary_folder.hpp"
#include "trace/operation_log.hpp"
#include "trace/read_operation_log.hpp"

namespace dtrain::trace {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::chrono::nanoseconds now() {
    return std::chrono::steady_clock::now().time_since_epoch();
}

std::filesystem::path file_of(const TemporaryFolder& folder, pid_t pid) {
    return std::filesystem::path(folder.path()) / (std::to_string(pid) + operation_log_suffix);
}

ProcessOperations read(const TemporaryFolder& folder, pid_t pid = ::getpid()) {
    auto operations = read_operation_log(file_of(folder, pid), now());
    EXPECT_TRUE(operations);
    return operations.value_or(ProcessOperations{});
}

BegunOperation all_reduce(OperationLog& log, std::uint16_t group, std::uint64_t number) {
    return {.group = group,
            .number = number,
            .name = log.text("all_reduce"),
            .type = log.text("float32"),
            .reduction = log.text("sum"),
            .source = log.text("train.py:88"),
            .count = 1024};
}

TEST(OperationLog, SaysWhatItWasTold) {
    const TemporaryFolder folder;
    OperationLog log(folder.path());
    const std::vector<int> members{3, 5, 7};
    const auto group = log.group("dp", 1, 3, members);
    log.end(log.begin(all_reduce(log, group, 1)));
    const auto ticket = log.begin({.kind = OperationKind::receive,
                                   .group = group,
                                   .name = log.text("receive"),
                                   .count = unknown_count,
                                   .peer = 2,
                                   .tag = 9});
    log.waits(ticket);

    const auto read_back = read(folder);
    EXPECT_EQ(read_back.pid, ::getpid());
    EXPECT_EQ(read_back.completed, 1U);
    ASSERT_THAT(read_back.groups, SizeIs(1));
    EXPECT_EQ(read_back.groups[0], (Group{.name = "dp", .last_number = 1, .members = members, .size = 3}));
    ASSERT_THAT(read_back.operations, SizeIs(2));
    EXPECT_EQ(read_back.operations[0], (Operation{.group = "dp",
                                                  .number = 1,
                                                  .name = "all_reduce",
                                                  .type = "float32",
                                                  .reduction = "sum",
                                                  .source = "train.py:88",
                                                  .count = 1024,
                                                  .has_ended = true}));
    auto receive = read_back.operations[1];
    EXPECT_TRUE(receive.waited);
    receive.waited.reset();
    EXPECT_EQ(receive, (Operation{.kind = OperationKind::receive,
                                  .group = "dp",
                                  .name = "receive",
                                  .peer = 7,  // the job's number of the group's rank 2
                                  .tag = 9}));
}

TEST(OperationLog, KnowsTheRanksOfLargeGroups) {
    const TemporaryFolder folder;
    OperationLog log(folder.path());
    std::vector<int> all(1000), odd;
    std::iota(all.begin(), all.end(), 0);
    for (int rank = 1; rank < 1000; rank += 2) odd.push_back(rank);
    log.group("all", 7, 1000, all);
    log.group("odd", 3, 500, odd);
    const auto groups = read(folder).groups;
    ASSERT_THAT(groups, SizeIs(2));
    EXPECT_EQ(groups[0].size, 1000);
    EXPECT_THAT(groups[0].members, IsEmpty()) << "the job's first ranks";
    EXPECT_EQ(groups[1].members, odd);
}

TEST(OperationLog, WaitsUntilItGoesOn) {
    const TemporaryFolder folder;
    OperationLog log(folder.path());
    const auto group = log.group("world", 0, 2);
    const auto ticket = log.begin(all_reduce(log, group, 1));
    EXPECT_FALSE(operation_progress(folder.path(), now()).waited);
    log.waits(ticket);
    std::this_thread::sleep_for(milliseconds(20));
    EXPECT_GE(operation_progress(folder.path(), now()).waited.value_or(milliseconds(0)), milliseconds(20));
    log.goes_on(ticket);
    EXPECT_FALSE(operation_progress(folder.path(), now() + std::chrono::seconds(2)).waited);
    log.waits(ticket);
    log.end(ticket);
    const auto progress = operation_progress(folder.path(), now());
    EXPECT_FALSE(progress.waited);
    EXPECT_EQ(progress.completed, 1U);
    EXPECT_TRUE(progress.any);
}

TEST(OperationLog, AWaitInSlicesIsOne) {
    const TemporaryFolder folder;
    OperationLog log(folder.path());
    const auto ticket = log.begin(all_reduce(log, log.group("world", 0, 2), 1));
    const auto begin = now();
    for (int slice = 0; slice < 5; ++slice) {
        log.waits(ticket);
        std::this_thread::sleep_for(milliseconds(5));
        log.goes_on(ticket);
    }
    const auto waited = operation_progress(folder.path(), now()).waited;
    ASSERT_TRUE(waited) << "it will go on waiting";
    EXPECT_GE(*waited, milliseconds(25));
    EXPECT_LE(*waited, std::chrono::ceil<milliseconds>(now() - begin));
}

TEST(OperationLog, KeepsTheLastOfEachGroupAndAllThatGoOn) {
    const TemporaryFolder folder;
    OperationLog log(folder.path());
    const auto rare = log.group("rare", 0, 2);
    const auto often = log.group("often", 0, 2);
    log.end(log.begin(all_reduce(log, rare, 1)));
    const auto first = log.begin(all_reduce(log, rare, 2));
    for (std::uint64_t number = 1; number <= log_entries / 2; ++number)
        log.end(log.begin(all_reduce(log, often, number)));
    log.waits(first);
    const auto operations = read(folder).operations;
    EXPECT_EQ(operations.front().group, "rare");
    EXPECT_TRUE(std::ranges::any_of(
        operations, [](const Operation& each) { return each.group == "rare" && each.waited; }));
    EXPECT_EQ(operations.back().number, log_entries / 2);
}

TEST(OperationLog, OldOnesGiveWay) {
    const TemporaryFolder folder;
    OperationLog log(folder.path());
    const auto group = log.group("world", 0, 2);
    const auto first = log.begin(all_reduce(log, group, 1));
    for (std::uint64_t number = 2; number <= 2 * log_entries; ++number)
        log.end(log.begin(all_reduce(log, group, number)));
    log.waits(first);  // of what is no longer there: changes nothing
    log.end(first);
    const auto read_back = read(folder);
    EXPECT_EQ(read_back.completed, 2 * log_entries);
    for (const auto& operation : read_back.operations) EXPECT_FALSE(operation.waited);
    EXPECT_EQ(read_back.groups[0].last_number, 2 * log_entries);
}

TEST(OperationLog, WhatAThreadWaitsForStays) {
    const TemporaryFolder folder;
    OperationLog log(folder.path());
    const auto group = log.group("world", 0, 2);
    const auto first = log.begin(all_reduce(log, group, 1));
    log.waits(first);
    for (std::uint64_t number = 2; number <= 2 * log_entries; ++number)
        log.end(log.begin(all_reduce(log, group, number)));
    EXPECT_TRUE(operation_progress(folder.path(), now()).waited);
    log.end(first);
    EXPECT_FALSE(operation_progress(folder.path(), now()).waited);
    for (std::uint64_t number = 1; number <= log_entries; ++number)
        log.end(log.begin(all_reduce(log, group, number)));
    EXPECT_FALSE(log.waits(first)) << "it gives way once it has ended";
}

TEST(OperationLog, AProcessMayHaveSeveral) {
    const TemporaryFolder folder;
    OperationLog one(folder.path()), other(folder.path());
    one.end(one.begin(all_reduce(one, one.group("one", 0, 2), 1)));
    other.end(other.begin(all_reduce(other, other.group("other", 0, 2), 1)));
    const auto logs = read_operation_logs(folder.path(), now());
    ASSERT_THAT(logs, SizeIs(2));
    EXPECT_NE(logs[0].groups.at(0).name, logs[1].groups.at(0).name);
    EXPECT_EQ(operation_progress(folder.path(), now()).completed, 2U);
}

TEST(OperationLog, StaysWhenTheProcessIsKilled) {
    const TemporaryFolder folder;
    const pid_t child = ::fork();
    if (child == 0) {
        OperationLog log(folder.path());
        const auto group = log.group("world", 1, 2);
        log.waits(log.begin(all_reduce(log, group, 17)));
        ::raise(SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    const auto operations = read(folder, child).operations;
    ASSERT_THAT(operations, SizeIs(1));
    EXPECT_EQ(operations[0].number, 17U);
    EXPECT_TRUE(operations[0].waited);
    EXPECT_FALSE(operation_progress(folder.path(), now()).any) << "it no longer runs";
    EXPECT_THAT(read_operation_logs(folder.path(), now()), SizeIs(1)) << "no other runs";
}

TEST(OperationLog, TextsAreKeptOnceAndCut) {
    const TemporaryFolder folder;
    OperationLog log(folder.path());
    EXPECT_EQ(log.text(""), 0);
    EXPECT_EQ(log.text("sum"), log.text("sum"));
    const std::string longer(3 * log_text_bytes, 'x');
    const auto group = log.group(longer, 0, 1);
    log.end(log.begin(all_reduce(log, group, 1)));
    EXPECT_EQ(read(folder).groups[0].name, std::string(log_text_bytes - 1, 'x'));
    for (std::size_t index = 0; index < 2 * log_texts; ++index) log.text(std::to_string(index));
    EXPECT_EQ(log.text("one too many"), 0);
}

TEST(OperationLog, ManyThreadsWriteWhileOneReads) {
    const TemporaryFolder folder;
    OperationLog log(folder.path());
    constexpr int threads = 4;
    constexpr std::uint64_t each = 20'000;
    std::vector<std::thread> writers;
    for (int thread = 0; thread < threads; ++thread)
        writers.emplace_back([&log, thread] {
            const auto group = log.group("of thread " + std::to_string(thread), 0, 2);
            for (std::uint64_t number = 1; number <= each; ++number) {
                auto operation = all_reduce(log, group, number);
                operation.count = number;  // as a check: an entry is of one operation
                log.end(log.begin(operation));
            }
        });
    for (int round = 0; round < 200; ++round)
        for (const auto& operation : read(folder).operations)
            EXPECT_EQ(operation.count, operation.number) << "half of one operation, half of another";
    for (auto& writer : writers) writer.join();
    EXPECT_EQ(read(folder).completed, threads * each);
}

TEST(OperationLog, NothingIsReadFromWhatIsNoLog) {
    const TemporaryFolder folder;
    const auto file = file_of(folder, 1);
    EXPECT_FALSE(read_operation_log(file, now())) << "nothing there";
    std::ofstream(file) << "DTOPLOG1";
    EXPECT_FALSE(read_operation_log(file, now())) << "cut";
    std::ofstream(file) << std::string(sizeof(OperationLogFile), 'x');
    EXPECT_FALSE(read_operation_log(file, now())) << "another file";
    std::filesystem::remove(file);
    std::filesystem::create_symlink("/etc/passwd", file);
    EXPECT_FALSE(read_operation_log(file, now())) << "a link";
}

TEST(OperationLog, AnyBytesBehindItsMagicAreReadOrRefused) {
    const TemporaryFolder folder;
    const auto file = file_of(folder, 1);
    std::string bytes(sizeof(OperationLogFile), '\xff');
    std::copy(log_magic.begin(), log_magic.end(), bytes.begin());
    std::ofstream(file, std::ios::binary) << bytes;
    const auto operations = read_operation_log(file, now());
    ASSERT_TRUE(operations);
    EXPECT_THAT(operations->operations, IsEmpty());  // an odd version is one that is being written
    EXPECT_THAT(operations->groups, SizeIs(log_groups));
}

TEST(RankState, IsTheSameAfterJson) {
    const RankState state{
        .rank = 5,
        .host = "node7",
        .pid = 1234,
        .activity = Activity::is_in_kernel,
        .file = "/data/x",
        .held_by = "held by a debugger (gdb, pid 7)",
        .stack = {"read (io.py:3)", "main (train.py:88)"},
        .groups = {{.name = "dp", .last_number = 9, .members = {1, 5}, .size = 2},
                   {.name = "world", .size = 8}},
        .operations = {
            {.group = "dp", .number = 9, .name = "all_reduce", .count = 3, .peer = 2, .has_ended = true},
            {.kind = OperationKind::send, .name = "send", .tag = 4, .waited = milliseconds(31)}}};
    EXPECT_EQ(parse_rank_state(to_json(state)), state);
    EXPECT_FALSE(parse_rank_state("{}"));
    EXPECT_EQ(to_json(state, 10'000), to_json(state));
    auto large = state;
    for (int call = 0; call < 100; ++call)
        large.stack.push_back("call (train.py:" + std::to_string(call) + ")");
    for (int number = 0; number < 100; ++number)
        large.operations.insert(large.operations.begin(), state.operations[0]);
    const auto shorter = to_json(large, 1000);
    EXPECT_LE(shorter.size(), 1000U);
    const auto kept = parse_rank_state(shorter);
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->operations.back(), state.operations.back()) << "what goes on stays";
    EXPECT_EQ(kept->stack.front(), state.stack.front());
    EXPECT_EQ(kept->groups, state.groups);
    for (int number = 0; number < 100; ++number)
        large.groups.insert(large.groups.begin(), {.name = "part " + std::to_string(number), .size = 2});
    large.operations.back().group = "part 7";
    const auto of_many_groups = to_json(large, 1200);
    EXPECT_LE(of_many_groups.size(), 1200U);
    EXPECT_THAT(parse_rank_state(of_many_groups)->groups, testing::Contains(large.groups[92]))
        << "of what goes on, the group stays";
    EXPECT_THAT(parse_rank_state(of_many_groups)->operations, SizeIs(8)) << "and what came before";
    EXPECT_FALSE(parse_rank_state("not json"));
}

}  // namespace
}  // namespace dtrain::trace
