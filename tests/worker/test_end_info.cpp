// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what a person would look up on the machine after each end, written out by hand.
#include <csignal>
#include <filesystem>

#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"
#include "worker/end_info.hpp"

namespace dtrain::worker {
namespace {

const OomKills in_cgroup{.count = 1, .cgroup = "/job", .limit = 1 << 30};
const SharedMemory small{.bytes = 64 << 20, .free_bytes = 4096};

TEST(EndInfo, TheOomKillerIsNamedOrRuledOut) {
    EXPECT_EQ(end_diagnosis({.signal = SIGKILL}, in_cgroup, {}, small),
              "the kernel's OOM killer ended 1 process of memory cgroup /job (limit 1 GiB)");
    EXPECT_EQ(end_diagnosis({.signal = SIGKILL}, OomKills{}, {}, small),
              "the kernel's OOM killer did not do it, by its counters");
    EXPECT_EQ(end_diagnosis({.code = 137}, OomKills{}, {}, small),
              "the kernel's OOM killer did not do it, by its counters");
    EXPECT_EQ(end_diagnosis({.signal = SIGKILL}, std::nullopt, {}, small), "");
}

TEST(EndInfo, AKilledChildMayEndTheProgramOtherwise) {
    EXPECT_EQ(end_diagnosis({.code = 1}, in_cgroup, {}, small),
              "the kernel's OOM killer ended 1 process of memory cgroup /job (limit 1 GiB)");
}

TEST(EndInfo, WhatIsKilledOutsideItsCgroupOnlyConcernsAProgramThatWasKilled) {
    const OomKills outside{.count = 1, .outside = true}, of_machine{.count = 1};
    const std::string meanwhile = "the kernel's OOM killer ended 1 process on this machine meanwhile";
    EXPECT_EQ(end_diagnosis({.code = 1}, outside, {}, small), "");
    EXPECT_EQ(end_diagnosis({.signal = SIGSEGV}, outside, {}, small), "");
    EXPECT_EQ(end_diagnosis({.signal = SIGKILL}, outside, {}, small), meanwhile);
    EXPECT_EQ(end_diagnosis({.code = 1}, of_machine, {}, small), meanwhile);
}

TEST(EndInfo, BusErrorsComeFromSharedMemory) {
    EXPECT_EQ(end_diagnosis({.signal = SIGBUS}, OomKills{}, {}, small),
              "/dev/shm holds 64 MiB, 4 KiB of it free after the end");
    EXPECT_EQ(
        end_diagnosis({.signal = SIGBUS}, in_cgroup, {}, small),
        "the kernel's OOM killer ended 1 process of memory cgroup /job (limit 1 GiB); /dev/shm holds 64 MiB, "
        "4 KiB of it free after the end");
    EXPECT_EQ(end_diagnosis({.signal = SIGBUS}, OomKills{}, {}, std::nullopt), "");
}

TEST(EndInfo, ErrorsOfGpusAreNamed) {
    const topology::Xid xid{.number = 79, .gpu = "0000:3b:00", .text = {}};
    EXPECT_EQ(end_diagnosis({.code = 1}, OomKills{}, {xid}, small),
              "the kernel logged Xid 79 of GPU 0000:3b:00: the GPU has fallen off the bus");
    const auto many = end_diagnosis({.code = 1}, OomKills{}, std::vector(20, xid), small);
    EXPECT_EQ(many.size(), 3 * end_diagnosis({.code = 1}, OomKills{}, {xid}, small).size() + 4)
        << "one error has many others follow";
}

TEST(EndInfo, AFullDiskOfTheLogIsNamed) {
    EXPECT_EQ(end_diagnosis({.code = 1}, OomKills{}, {}, small, "there is no room for its log"),
              "there is no room for its log");
}

TEST(EndInfo, ADiskWithRoomIsNoFactAndKeepsNoTrace) {
    const tests::TemporaryFolder folder;
    tests::write_bytes(folder / "workerlog.0", "x");
    EXPECT_EQ(disk_full_message(folder / "workerlog.0"), std::nullopt);
    EXPECT_EQ(disk_full_message(folder / "none"), std::nullopt);
    EXPECT_EQ(disk_full_message("/dev/null"), std::nullopt);
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(EndInfo, OtherwiseNothing) {
    for (const ExitStatus ended :
         {ExitStatus{.code = 7}, ExitStatus{.signal = SIGSEGV}, ExitStatus{.code = 1}})
        EXPECT_EQ(end_diagnosis(ended, OomKills{}, {}, small), "");
}

TEST(EndInfo, ThisMachinesSharedMemory) {
    if (const auto memory = shared_memory()) {
        EXPECT_GT(memory->bytes, 0);
        EXPECT_LE(memory->free_bytes, memory->bytes);
    }
}

}  // namespace
}  // namespace dtrain::worker
