// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: means and maxima written out by hand; what the stand-in library (fake_nvml.cpp) always says.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "topology/gpu_use.hpp"

namespace dtrain::topology {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr PciAddress at(std::uint8_t bus) {
    return {.domain = 0, .bus = bus};
}

TEST(GpuUse, IsTheMeanOfAllLooksAndTheMostOfMemoryAndHeat) {
    const GpuHealth idle{.pci = at(1), .utilization = 0, .memory_used = 100, .watts = 70.0, .celsius = 31};
    const GpuHealth busy{.pci = at(1), .utilization = 90, .memory_used = 900, .watts = 610.0, .celsius = 80};
    const GpuHealth silent{.pci = at(2)};
    const auto use = gpu_use({{idle, silent}, {busy, silent}, {busy, idle}});
    EXPECT_EQ(use.utilization, (0 + 90 + 90 + 0) / 4.0);
    EXPECT_EQ(use.watts, (70 + 610 + 680) / 3.0) << "of a node's GPUs together";
    EXPECT_EQ(use.memory, 900);
    EXPECT_EQ(use.celsius, 80);
}

TEST(GpuUse, NothingToldIsNothing) {
    EXPECT_EQ(gpu_use({}), GpuUse{});
    EXPECT_EQ(gpu_use({{GpuHealth{.pci = at(1)}}}), GpuUse{});
}

TEST(GpuLoad, IsOfTheGpusThatAreAskedFor) {
    const NvmlLibrary nvml(FAKE_NVML);
    EXPECT_EQ(ask_gpu_load(nvml, std::nullopt).size(), 3U);
    const auto one = ask_gpu_load(nvml, std::vector{at(0x4e)});
    ASSERT_EQ(one.size(), 1U);
    EXPECT_EQ(one[0].utilization, 97);
    EXPECT_DOUBLE_EQ(one[0].watts.value(), 651.5);
    EXPECT_TRUE(one[0].processes.empty()) << "only how busy it is";
}

TEST(ShownGpus, AreThoseOfTheVariable) {
    Machine machine;
    for (const int index : {0, 1, 2}) {
        Gpu gpu;
        gpu.index = index;
        gpu.pci = at(static_cast<std::uint8_t>(index + 7));
        machine.gpus.push_back(gpu);
    }
    EXPECT_THAT(shown_gpus(machine, "2,0").value(), ElementsAre(at(9), at(7)));
    EXPECT_THAT(shown_gpus(machine, std::nullopt).value(), ElementsAre(at(7), at(8), at(9)));
    EXPECT_THAT(shown_gpus(machine, "").value(), ElementsAre());
    EXPECT_EQ(shown_gpus(Machine{}, "2,0"), std::nullopt);
}

TEST(GpuWatch, LooksAgainAndAgain) {
    GpuWatch watch(std::nullopt, 1ms, FAKE_NVML);
    const auto until = std::chrono::steady_clock::now() + 20s;
    const auto wait_for_a_sample = [&] {
        for (;;) {
            if (const auto use = watch.use_since_last();
                use.utilization || std::chrono::steady_clock::now() > until)
                return use;
            std::this_thread::sleep_for(1ms);
        }
    };
    for (int look = 0; look < 3; ++look) {
        const auto use = wait_for_a_sample();
        EXPECT_EQ(use.utilization, 97);
        EXPECT_EQ(use.watts, 2 * 651.5) << "the third GPU does not tell";
        EXPECT_EQ(use.celsius, 91);
    }
    EXPECT_EQ(watch.use().memory, 3.0 * 1024 * 1024 * 1024);
}

TEST(GpuWatch, WithoutALibraryItIsNothing) {
    GpuWatch watch(std::nullopt, 1ms, "libdtrain-has-no-such-thing.so");
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(watch.use(), GpuUse{});
    EXPECT_EQ(watch.use_since_last(), GpuUse{});
}

}  // namespace
}  // namespace dtrain::topology
