// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: Paddle's rule for --gpus (physical ids out of CUDA_VISIBLE_DEVICES) and --nproc_per_node
// (contiguous even parts), worked out by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/plan/devices.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using tests::refuses;
using topology::VisibleGpu;
using Devices = std::vector<VisibleGpu>;

const Devices last_four{{"4", 4}, {"5", 5}, {"6", 6}, {"7", 7}};

TEST(FirstGpus, ACountOfTheVisibleOnes) {
    EXPECT_EQ(first_gpus("2", last_four), (Devices{last_four[0], last_four[1]}));
    EXPECT_EQ(first_gpus("4", last_four), last_four);
    for (const char* wrong : {"", "0", "-1", "0,1", "two"})
        EXPECT_THAT([&] { first_gpus(wrong, last_four); }, refuses("PADDLE_NUM_TRAINERS")) << wrong;
    EXPECT_THAT([] { first_gpus("5", last_four); }, refuses("4 are visible"));
}

TEST(FirstForEach, TheFirstOnesOrNoneIfTheyAreTooFew) {
    EXPECT_EQ(first_for_each(last_four, 2), (Devices{last_four[0], last_four[1]}));
    EXPECT_EQ(first_for_each(last_four, 4), last_four);
    EXPECT_EQ(first_for_each(last_four, std::nullopt), last_four);
    EXPECT_THAT(first_for_each(last_four, 5), IsEmpty());
}

TEST(DealDevices, OnePerProcessUnlessToldOtherwise) {
    EXPECT_EQ(deal_devices(last_four, std::nullopt),
              (std::vector<Devices>{{{"4", 4}}, {{"5", 5}}, {{"6", 6}}, {{"7", 7}}}));
    EXPECT_EQ(deal_devices(last_four, 4), deal_devices(last_four, std::nullopt));
}

TEST(DealDevices, ContiguousEvenParts) {
    EXPECT_EQ(deal_devices(last_four, 2), (std::vector<Devices>{{{"4", 4}, {"5", 5}}, {{"6", 6}, {"7", 7}}}));
    EXPECT_EQ(deal_devices(last_four, 1), (std::vector<Devices>{last_four}));
}

TEST(DealDevices, NumbersThatDoNotDivideAreRefused) {
    for (const int processes : {3, 5, 8})
        EXPECT_THAT(
            [&] { deal_devices(last_four, processes); },
            refuses("--nproc_per_node " + std::to_string(processes) + " does not divide", "4 GPUs 4,5,6,7"));
    EXPECT_THAT([] { deal_devices({{"3", 3}}, 2); }, refuses("the 1 GPU 3"));
}

TEST(DealDevices, WithoutDevicesProcessesOfTheCpu) {
    EXPECT_THAT(deal_devices({}, std::nullopt), ElementsAre(IsEmpty()));
    EXPECT_THAT(deal_devices({}, 3), ElementsAre(IsEmpty(), IsEmpty(), IsEmpty()));
}

TEST(DealDevices, FewerThanOneProcessIsNone) {
    for (const int processes : {0, -1, -4})
        for (const auto& devices : {Devices{}, last_four})
            EXPECT_THAT([&] { deal_devices(devices, processes); },
                        refuses(std::to_string(processes), "at least 1"));
}

}  // namespace
}  // namespace dtrain::launch
