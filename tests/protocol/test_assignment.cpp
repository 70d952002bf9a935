// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the values written by hand, and reading back what was written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "protocol/assignment.hpp"

namespace dtrain::cluster {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<RankAssignment> two_gpu_ranks() {
    return {{.cpus = CpuSet::parse("0-3,32-35"),
             .numa_nodes = {0},
             .devices = {0, 1},
             .threads = 4,
             .adapter = "mlx5_0"},
            {.cpus = CpuSet::parse("16-19"),
             .numa_nodes = {1, 2},
             .devices = {2, 3},
             .threads = 2,
             .shared = true,
             .adapter = ""}};
}

TEST(Assignment, IsWrittenAsOneFieldPerRank) {
    Environment environment;
    write_assignments(environment, {two_gpu_ranks()});
    EXPECT_EQ(environment, (Environment{{"DTRAIN_CPUS", "0-3,32-35;16-19"},
                                        {"DTRAIN_NUMA", "0;1,2"},
                                        {"DTRAIN_GPUS", "0,1;2,3"},
                                        {"DTRAIN_THREADS", "4;2"},
                                        {"DTRAIN_SHARED", "0;1"},
                                        {"DTRAIN_ADAPTER", "mlx5_0;"}}));
}

TEST(Assignment, RoundTrip) {
    const std::vector<RankAssignment> one_cpu_rank{{.cpus = CpuSet::range(0, 0)}};
    const std::vector<RankAssignment> four_cpu_ranks(
        4, {.cpus = CpuSet::range(0, 300), .numa_nodes = {0, 1}, .threads = 75, .shared = true});
    for (const auto& ranks : {two_gpu_ranks(), one_cpu_rank, four_cpu_ranks}) {
        Environment environment;
        write_assignments(environment, {ranks});
        EXPECT_EQ(read_assignments(environment, 0), ranks);
    }
}

TEST(Assignment, EachNodeReadsItsOwn) {
    const std::vector<RankAssignment> cpu_rank{{.cpus = CpuSet::range(0, 7)}};
    const std::vector<std::vector<RankAssignment>> nodes{cpu_rank, two_gpu_ranks(), two_gpu_ranks()};
    Environment environment;
    write_assignments(environment, nodes);
    EXPECT_EQ(environment.get("DTRAIN_CPUS"), "0-7|2*0-3,32-35;16-19");
    for (int node = 0; node < 3; ++node)
        EXPECT_EQ(read_assignments(environment, node), nodes[static_cast<std::size_t>(node)]);
    EXPECT_THAT([&] { read_assignments(environment, 3); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("DTRAIN_CPUS="), HasSubstr("3 nodes"))));
}

TEST(Assignment, NothingWithoutALauncher) {
    EXPECT_EQ(read_assignments({}, 0), std::nullopt);
    EXPECT_EQ(read_assignments({{"DTRAIN_GPUS", "0;1"}}, 0), std::nullopt);
}

TEST(Assignment, MasksAloneAreEnough) {
    const auto ranks = read_assignments({{"DTRAIN_CPUS", "0;1"}}, 0);
    EXPECT_EQ(ranks,
              (std::vector<RankAssignment>{{.cpus = CpuSet::range(0, 0)}, {.cpus = CpuSet::range(1, 1)}}));
}

TEST(Assignment, FieldsThatDoNotFitAreNamed) {
    for (const char* name :
         {"DTRAIN_NUMA", "DTRAIN_GPUS", "DTRAIN_THREADS", "DTRAIN_SHARED", "DTRAIN_ADAPTER"}) {
        EXPECT_THAT(
            [&] {
                read_assignments({{"DTRAIN_CPUS", "0;1"}, {name, "1;1;1"}}, 0);
            },
            ThrowsMessage<UsageError>(AllOf(HasSubstr(std::string(name) + "=1;1;1 has 3 fields"),
                                            HasSubstr("DTRAIN_CPUS=0;1 has 2"))));
    }
}

TEST(Assignment, TextThatIsNoNumberIsNamed) {
    struct Case {
        const char* name;
        const char* value;
        const char* quoted;
    };
    for (const auto& wrong : {Case{"DTRAIN_NUMA", "0;x", "\"x\""}, Case{"DTRAIN_GPUS", "0,;1", "\"0,\""},
                              Case{"DTRAIN_GPUS", "-1;1", "\"-1\""}, Case{"DTRAIN_THREADS", "1;", "\"\""},
                              Case{"DTRAIN_THREADS", "4;-2", "\"-2\""}}) {
        EXPECT_THAT(
            [&] {
                read_assignments({{"DTRAIN_CPUS", "0;1"}, {wrong.name, wrong.value}}, 0);
            },
            ThrowsMessage<UsageError>(AllOf(HasSubstr(wrong.name), HasSubstr(wrong.quoted))));
    }
    EXPECT_THAT(
        [] {
            read_assignments({{"DTRAIN_CPUS", "0-;1"}}, 0);
        },
        ThrowsMessage<UsageError>(HasSubstr("0-")));
}

}  // namespace
}  // namespace dtrain::cluster
