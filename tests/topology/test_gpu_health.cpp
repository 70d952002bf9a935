// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what the stand-in library (fake_nvml.cpp) was written to say, and the sentences an operator would
// want, written out by hand.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"
#include "topology/gpu_health.hpp"
#include "topology/gpu_issues.hpp"

namespace dtrain::topology {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::uint64_t gib = std::uint64_t{1} << 30U;

std::vector<std::string> texts_of(const GpuHealth& health) {
    std::vector<std::string> texts;
    for (const auto& issue : issues_of(health))
        texts.push_back((issue.is_fault ? "fault: " : "") + issue.text);
    return texts;
}

TEST(GpuHealth, IsWhatTheLibrarySays) {
    const auto gpus = ask_gpu_health(FAKE_NVML);
    ASSERT_EQ(gpus.size(), 3U);
    const auto& ill = gpus[0];
    EXPECT_EQ(ill.pci.to_string(), "0000:5f:00.0");
    EXPECT_EQ(ill.uncorrected_errors, 2U);
    EXPECT_TRUE(ill.row_failed);
    EXPECT_TRUE(ill.row_pending);
    EXPECT_THAT(ill.slowdowns, ElementsAre(GpuSlowdown::hot, GpuSlowdown::power_brake));
    EXPECT_THAT(ill.processes, ElementsAre(GpuProcess{4242, 3 * gib}, GpuProcess{4243, std::nullopt}));
    EXPECT_EQ(ill.utilization, 97);
    EXPECT_EQ(ill.memory_used, 3 * gib);
    EXPECT_EQ(ill.memory_total, 8 * gib);
    EXPECT_DOUBLE_EQ(ill.watts.value(), 651.5);
    EXPECT_EQ(ill.celsius, 91);
    EXPECT_THAT(gpus[1].slowdowns, ElementsAre(GpuSlowdown::power_cap));
    EXPECT_EQ(gpus[1].uncorrected_errors, 0U);
}

TEST(GpuHealth, WhatAGpuDoesNotTellIsNothing) {
    GpuHealth silent;
    silent.pci = {.domain = 0, .bus = 0x9a};
    EXPECT_EQ(ask_gpu_health(FAKE_NVML).at(2), silent);
    EXPECT_THAT(issues_of(silent), IsEmpty());
}

TEST(GpuHealth, HasWhatTheKernelLoggedOfIt) {
    const tests::TemporaryFolder folder;
    std::ofstream(folder / "kmsg") << "6,1,1,-;NVRM: Xid (PCI:0000:4e:00): 79, fell off\n"
                                      "6,2,2,-;NVRM: Xid (PCI:0000:5f:00): 13, of a program\n"
                                      "6,3,3,-;NVRM: Xid (PCI:0000:4e:00): 79, again\n"
                                      "6,4,4,-;NVRM: Xid (PCI:0000:4e:00): 31, of a program\n";
    const auto gpus = ask_gpu_health(FAKE_NVML, folder / "kmsg");
    EXPECT_THAT(gpus.at(0).xids, ElementsAre(Xid{13, "0000:5f:00", "of a program"}));
    EXPECT_EQ(gpus.at(1).xids.size(), 3U);
    EXPECT_THAT(gpus.at(2).xids, IsEmpty());
    const auto issues = issues_of({.pci = gpus.at(1).pci, .xids = gpus.at(1).xids});
    ASSERT_EQ(issues.size(), 1U) << "the last of each number, and none that is a program's";
    EXPECT_EQ(issues[0].text, "the kernel has logged Xid 79: the GPU has fallen off the bus (again)");
    EXPECT_FALSE(issues[0].is_fault) << "it may have been reset since then";
    EXPECT_EQ(issues[0].remedy,
              "unless that was done since then, reset it (nvidia-smi --gpu-reset -i 0000:4e:00.0) or reboot");
}

TEST(GpuHealth, NoLibraryNoGpus) {
    EXPECT_THAT(ask_gpu_health("libdtrain-has-no-such-thing.so"), IsEmpty());
    EXPECT_THAT(ask_gpu_health("libm.so.6"), IsEmpty());
}

TEST(GpuIssues, WorstFirstAndWhatToDo) {
    const auto ill = ask_gpu_health(FAKE_NVML).at(0);
    EXPECT_THAT(
        texts_of(ill),
        ElementsAre(
            "fault: a broken row of its memory could not be replaced",
            "fault: 2 errors of its memory that could not be corrected since the driver was loaded",
            "a broken row of its memory waits to be replaced", "slowed down by its heat, 91 degrees Celsius",
            "slowed down by the power brake of its machine",
            "process 4242 computes on it and has 3 GiB of its memory", "process 4243 computes on it"));
    const auto issues = issues_of(ill);
    EXPECT_EQ(issues[1].remedy,
              "reset it (nvidia-smi --gpu-reset -i 0000:5f:00.0) or reboot; exchange it when they come back");
    EXPECT_EQ(issues[5].remedy, "end it, or take another GPU: ps -o user,etime,args -p 4242");
}

TEST(GpuIssues, AGpuWithWorkMayBeAtItsPowerLimit) {
    GpuHealth health{.slowdowns = {GpuSlowdown::power_cap}, .processes = {{.pid = 7}}};
    EXPECT_THAT(texts_of(health), ElementsAre("process 7 computes on it"));
    health.processes.clear();
    EXPECT_THAT(texts_of(health), ElementsAre("slowed down by its power limit"));
}

TEST(GpuIssues, AHealthyGpuHasNone) {
    EXPECT_THAT(issues_of({.uncorrected_errors = 0, .utilization = 0, .watts = 70.0, .celsius = 35}),
                IsEmpty());
}

}  // namespace
}  // namespace dtrain::topology
