// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the four forms of spawn in Paddle's documents, and the cases that Paddle refuses, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "spawn/ranks_to_spawn.hpp"

namespace dtrain::spawning {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using Devices = std::vector<topology::VisibleGpu>;

const Devices none;
const Devices last_four{{"4", 4}, {"5", 5}, {"6", 6}, {"7", 7}};

topology::Machine with_cores(int cores) {
    topology::Machine machine;
    machine.cores.resize(static_cast<std::size_t>(cores));
    return machine;
}

RanksToSpawn planned(const SpawnOptions& options, const Devices& visible) {
    return ranks_to_spawn(options, with_cores(6), visible);
}

TEST(RanksToSpawn, OneForEachVisibleGpu) {
    EXPECT_EQ(planned({}, last_four), (RanksToSpawn{4, "4,5,6,7", false}));
}

TEST(RanksToSpawn, TheFirstOfTheVisibleGpus) {
    EXPECT_EQ(planned({.nprocs = 2}, last_four), (RanksToSpawn{2, "4,5", false}));
    EXPECT_EQ(planned({.nprocs = 4, .backend = "nccl"}, last_four), (RanksToSpawn{4, "4,5,6,7", false}));
}

TEST(RanksToSpawn, GpusByTheirPhysicalIds) {
    EXPECT_EQ(planned({.nprocs = 2, .gpus = "6,5"}, last_four), (RanksToSpawn{2, "6,5", false}));
    EXPECT_EQ(planned({.gpus = " 7 "}, last_four), (RanksToSpawn{1, "7", false}));
}

TEST(RanksToSpawn, WithoutGpusOneForEachCore) {
    EXPECT_EQ(planned({}, none), (RanksToSpawn{6, "", false}));
    EXPECT_EQ(planned({.nprocs = 9}, none), (RanksToSpawn{9, "", false}));
    EXPECT_EQ(planned({.nprocs = 2, .backend = "gloo"}, none), (RanksToSpawn{2, "", false}));
}

TEST(RanksToSpawn, RanksOfGlooSeeNoGpu) {
    EXPECT_EQ(planned({.backend = "gloo"}, last_four), (RanksToSpawn{6, "", true}));
    EXPECT_EQ(planned({.nprocs = 3, .backend = "gloo"}, last_four), (RanksToSpawn{3, "", true}));
}

TEST(RanksToSpawn, NumbersThatAreNoneAreRefused) {
    for (const int nprocs : {0, -2, -100})
        EXPECT_THAT([&] { planned({.nprocs = nprocs}, last_four); },
                    ThrowsMessage<UsageError>(HasSubstr("nprocs is " + std::to_string(nprocs) + ";")));
}

TEST(RanksToSpawn, MoreRanksThanVisibleGpusAreRefused) {
    EXPECT_THAT([] { planned({.nprocs = 5}, last_four); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("nprocs is 5"), HasSubstr("4,5,6,7 are visible"))));
    EXPECT_THAT(
        [] {
            planned({.nprocs = 2}, {{"3", 3}});
        },
        ThrowsMessage<UsageError>(HasSubstr("3 is visible")));
}

TEST(RanksToSpawn, AnotherNumberOfGpusThanRanksIsRefused) {
    for (const int nprocs : {1, 3, 4})
        EXPECT_THAT([&] { planned({.nprocs = nprocs, .gpus = "4,5"}, last_four); },
                    ThrowsMessage<UsageError>(AllOf(HasSubstr("gpus \"4,5\" are 2 GPUs"),
                                                    HasSubstr("nprocs is " + std::to_string(nprocs)))));
}

TEST(RanksToSpawn, GpusThatAreNotVisibleAreNamed) {
    EXPECT_THAT([] { planned({.nprocs = 2, .gpus = "0,4"}, last_four); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("no GPU 0"), HasSubstr("visible are 4,5,6,7"))));
    EXPECT_THAT([] { planned({.nprocs = 2, .gpus = "4,4"}, last_four); },
                ThrowsMessage<UsageError>(HasSubstr("GPU 4 is named twice")));
    EXPECT_THAT([] { planned({.nprocs = 1, .gpus = "gpu:4"}, last_four); },
                ThrowsMessage<UsageError>(HasSubstr("gpus gpu:4")));
    EXPECT_THAT([] { planned({.nprocs = 2, .gpus = "0,1"}, none); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("no NVIDIA GPU"), HasSubstr("leave gpus out"))));
}

TEST(RanksToSpawn, BackendsThatContradictAreRefused) {
    EXPECT_THAT([] { planned({.backend = "mpi"}, last_four); },
                ThrowsMessage<UsageError>(HasSubstr("backend is \"mpi\"")));
    EXPECT_THAT([] { planned({.backend = "nccl"}, none); },
                ThrowsMessage<UsageError>(HasSubstr("no NVIDIA GPU is visible")));
    EXPECT_THAT([] { planned({.gpus = "4", .backend = "gloo"}, last_four); },
                ThrowsMessage<UsageError>(HasSubstr("gpus \"4\"")));
}

}  // namespace
}  // namespace dtrain::spawning
