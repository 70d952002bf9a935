// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: Paddle's rule for --gpus (physical ids out of CUDA_VISIBLE_DEVICES), worked out by hand.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "topology/select_gpus.hpp"

namespace dtrain::topology {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::ThrowsMessage;
using Devices = std::vector<VisibleGpu>;

const Devices last_four{{"4", 4}, {"5", 5}, {"6", 6}, {"7", 7}};
const Devices by_uuid{{"GPU-5f3c", 5}, {"GPU-2f3c", 2}};
const Devices partitions{{"MIG-a1", 0}, {"MIG-b2", 0}, {"3", 3}};
const Devices unknown{{"0", std::nullopt}, {"GPU-77", std::nullopt}};

/// On a machine of which only CUDA_VISIBLE_DEVICES tells.
Devices selected(const std::string& gpus, const Devices& visible) {
    return select_gpus(gpus, visible, {});
}

TEST(SelectGpus, IdsArePhysical) {
    EXPECT_THAT(selected("4,6", last_four), ElementsAre(VisibleGpu{"4", 4}, VisibleGpu{"6", 6}));
    EXPECT_THAT(selected("7,4", last_four), ElementsAre(VisibleGpu{"7", 7}, VisibleGpu{"4", 4}));
    EXPECT_THAT(selected(" 5 , 6 ", last_four), ElementsAre(VisibleGpu{"5", 5}, VisibleGpu{"6", 6}));
}

TEST(SelectGpus, NumbersFindWhatUuidsMadeVisible) {
    EXPECT_THAT(selected("2", by_uuid), ElementsAre(VisibleGpu{"GPU-2f3c", 2}));
    EXPECT_THAT(selected("GPU-5f3c,2", by_uuid),
                ElementsAre(VisibleGpu{"GPU-5f3c", 5}, VisibleGpu{"GPU-2f3c", 2}));
}

TEST(SelectGpus, PartitionsAreNamedByTheirUuidOnly) {
    EXPECT_THAT(selected("MIG-b2,MIG-a1,3", partitions),
                ElementsAre(VisibleGpu{"MIG-b2", 0}, VisibleGpu{"MIG-a1", 0}, VisibleGpu{"3", 3}));
    EXPECT_THAT([] { selected("0", partitions); },
                ThrowsMessage<UsageError>(AllOf(HasSubstr("no GPU 0 here"), HasSubstr("MIG-a1,MIG-b2,3"))));
}

TEST(SelectGpus, DevicesThatTheMachineDoesNotShowGoByTheirNames) {
    EXPECT_EQ(selected("GPU-77,0", unknown), (Devices{unknown[1], unknown[0]}));
}

TEST(SelectGpus, WhatIsNotVisibleIsNamedWithWhatIs) {
    EXPECT_THAT([] { selected("4,9", last_four); },
                ThrowsMessage<UsageError>(
                    AllOf(HasSubstr("--gpus 4,9"), HasSubstr("no GPU 9"), HasSubstr("visible are 4,5,6,7"))));
    EXPECT_THAT([] { selected("0", last_four); }, ThrowsMessage<UsageError>(HasSubstr("no GPU 0")));
    EXPECT_THAT([] { selected("0", {}); },
                ThrowsMessage<UsageError>(
                    AllOf(HasSubstr("no NVIDIA GPU is visible"), HasSubstr("--nproc_per_node"))));
}

TEST(SelectGpus, TwiceIsRefusedUnderWhateverName) {
    for (const char* twice : {"4,4", "4,5,4", "4, 4", "4,04"})
        EXPECT_THAT([&] { selected(twice, last_four); },
                    ThrowsMessage<UsageError>(AllOf(HasSubstr(twice), HasSubstr("named twice"))));
    EXPECT_THAT([] { selected("5,GPU-5f3c", by_uuid); }, ThrowsMessage<UsageError>(HasSubstr("twice")));
    EXPECT_THAT([] { selected("MIG-a1,MIG-a1", partitions); }, ThrowsMessage<UsageError>(HasSubstr("twice")));
    EXPECT_THAT([] { selected("GPU-77,GPU-77", unknown); }, ThrowsMessage<UsageError>(HasSubstr("twice")));
}

TEST(SelectGpus, TextsThatAreNoIdsAreRefused) {
    for (const char* text : {"", ",", "4,", ",4", "4,,5", "-1", "4,-1"})
        EXPECT_THAT([&] { selected(text, last_four); }, ThrowsMessage<UsageError>(HasSubstr("is no GPU id")))
            << text;
    for (const char* text : {"every", "4-6", "4;5", "0x4", "4 5", "gpu4"})
        EXPECT_THROW(selected(text, last_four), UsageError) << text;
}

TEST(SelectGpus, AllAreAllThatAreVisible) {
    EXPECT_EQ(selected("all", last_four), last_four);
    EXPECT_EQ(selected(" all ", by_uuid), by_uuid);
}

TEST(SelectGpus, UuidsFindWhatNumbersMadeVisible) {
    Machine machine;
    for (int i = 0; i < 8; ++i) machine.gpus.push_back({.index = i, .uuid = fmt::format("GPU-{}", i)});
    const auto visible = visible_gpus(machine, std::nullopt);
    EXPECT_THAT(select_gpus("GPU-5,GPU-2", visible, machine),
                ElementsAre(VisibleGpu{"5", 5}, VisibleGpu{"2", 2}));
    EXPECT_THAT([&] { select_gpus("GPU-9", visible, machine); },
                ThrowsMessage<UsageError>(HasSubstr("no GPU GPU-9 here")));
    EXPECT_THAT([&] { select_gpus("GPU-", visible, machine); },
                ThrowsMessage<UsageError>(HasSubstr("several GPUs have a UUID that begins with GPU-")));
}

}  // namespace
}  // namespace dtrain::topology
