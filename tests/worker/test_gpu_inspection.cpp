// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a machine with two GPUs made by hand, one of them ill, and which of them each CUDA_VISIBLE_DEVICES
// means.
#include <poll.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "worker/gpu_inspection.hpp"

namespace dtrain::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;
using topology::GpuHealth;

topology::Machine two_gpus() {
    topology::Machine machine;
    for (int index = 0; index < 2; ++index) {
        topology::Gpu gpu;
        gpu.index = index;
        gpu.pci.bus = static_cast<std::uint8_t>(0x3b + index);
        machine.gpus.push_back(gpu);
    }
    return machine;
}

const std::vector<GpuHealth> second_is_ill = {{.pci = {.bus = 0x3b}},
                                              {.pci = {.bus = 0x3c}, .row_failed = true}};

TEST(GpuWarnings, AreAboutGpusThatTheProgramSees) {
    const auto of_second = ElementsAre(
        "GPU 0000:3c:00.0: a broken row of its memory could not be replaced; take it out of service; it has "
        "to be "
        "exchanged");
    EXPECT_THAT(gpu_warnings(second_is_ill, two_gpus(), std::nullopt), of_second);
    EXPECT_THAT(gpu_warnings(second_is_ill, two_gpus(), "1,0"), of_second);
    EXPECT_THAT(gpu_warnings(second_is_ill, two_gpus(), "0"), IsEmpty());
    EXPECT_THAT(gpu_warnings(second_is_ill, two_gpus(), ""), IsEmpty());
}

TEST(GpuWarnings, AreAboutAllWhereTheMachineShowsNone) {
    EXPECT_THAT(gpu_warnings(second_is_ill, {}, "0"), ElementsAre(StartsWith("GPU 0000:3c:00.0: ")));
}

TEST(GpuInspection, EndsWithoutWarningsOnAMachineWithoutDriver) {
    if (!topology::ask_gpu_health().empty()) GTEST_SKIP() << "this machine has GPUs";
    GpuInspection look(std::nullopt);
    pollfd answers{look.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&answers, 1, 30'000), 1);
    EXPECT_THAT(look.take(), IsEmpty());
    EXPECT_EQ(look.fd(), -1) << "and is over";
}

}  // namespace
}  // namespace dtrain::worker
