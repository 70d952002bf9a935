// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the placement rules in dtrain/topology.hpp, worked out by hand. Synthetic machines number their
// processors core by core, so package p of c cores with t threads has the processors p*c*t .. (p+1)*c*t-1.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "support/message_of.hpp"
#include "topology/fixture.hpp"

namespace dtrain::topology {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ranks = std::vector<std::vector<int>>;

std::vector<std::string> masks(const std::vector<Placement>& placements) {
    std::vector<std::string> out;
    for (const auto& rank : placements) out.push_back(rank.cpus.to_string());
    return out;
}

std::vector<std::string> adapters(const std::vector<Placement>& placements) {
    std::vector<std::string> out;
    for (const auto& rank : placements) out.push_back(rank.adapter);
    return out;
}

std::vector<int> threads(const std::vector<Placement>& placements) {
    std::vector<int> out;
    for (const auto& rank : placements) out.push_back(rank.threads);
    return out;
}

std::vector<std::vector<int>> nodes(const std::vector<Placement>& placements) {
    std::vector<std::vector<int>> out;
    for (const auto& rank : placements) out.push_back(rank.numa_nodes);
    return out;
}

bool any_shared(const std::vector<Placement>& placements) {
    return std::any_of(placements.begin(), placements.end(),
                       [](const Placement& rank) { return rank.shared; });
}

Ranks cpu_ranks(std::size_t count) {
    return Ranks(count);
}

Ranks one_gpu_each(int count) {
    Ranks ranks;
    for (int gpu = 0; gpu < count; ++gpu) ranks.push_back({gpu});
    return ranks;
}

PciDevice gpu(int bus) {
    return {.address = "0000:" + CpuSet::range(bus, bus).to_string() + ":00.0"};
}

TEST(PlaceGpus, TwoSocketsEightGpus) {
    MachineFixture fixture("pack:2 [numa] core:8 pu:2");
    for (int i = 0; i < 8; ++i) fixture.add("Package", i / 4, gpu(10 + i));
    const auto placed = place(fixture.machine(), one_gpu_each(8));
    EXPECT_THAT(masks(placed),
                ElementsAre("0-3", "4-7", "8-11", "12-15", "16-19", "20-23", "24-27", "28-31"));
    EXPECT_THAT(threads(placed), Each(2));
    EXPECT_THAT(nodes(placed), ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(0), ElementsAre(0),
                                           ElementsAre(1), ElementsAre(1), ElementsAre(1), ElementsAre(1)));
    EXPECT_THAT(placed[5].gpus, ElementsAre(5));
    EXPECT_FALSE(any_shared(placed));
    EXPECT_EQ(placed[5].reason, "near GPU 5, cores divided among 4 ranks");
}

TEST(PlaceGpus, OnlySomeOfTheGpusAndInAnyOrder) {
    MachineFixture fixture("pack:2 [numa] core:8 pu:1");
    for (int i = 0; i < 8; ++i) fixture.add("Package", i / 4, gpu(10 + i));
    EXPECT_THAT(masks(place(fixture.machine(), Ranks{{6}, {1}, {7}})), ElementsAre("8-11", "0-7", "12-15"));
}

TEST(PlaceGpus, OrderInTheFileDoesNotMatter) {
    MachineFixture fixture("pack:2 [numa] core:2 pu:1");
    fixture.add("Package", 1, gpu(10)).add("Package", 0, gpu(30)).add("Package", 0, gpu(20));
    EXPECT_THAT(masks(place(fixture.machine(), one_gpu_each(3))), ElementsAre("2-3", "0", "1"));
}

TEST(PlaceGpus, NearAMemoryNodeOfASubNumaCluster) {
    MachineFixture fixture("pack:2 group:4 [numa] core:4 pu:1");
    int bus = 10;
    for (const int node : {0, 2, 5, 7}) fixture.add("Group", node, gpu(bus++));
    const auto placed = place(fixture.machine(), one_gpu_each(4));
    EXPECT_THAT(masks(placed), ElementsAre("0-3", "8-11", "20-23", "28-31"));
    EXPECT_THAT(nodes(placed), ElementsAre(ElementsAre(0), ElementsAre(2), ElementsAre(5), ElementsAre(7)));
    EXPECT_THAT(threads(placed), Each(4));
}

TEST(PlaceGpus, BothOnOneSocket) {
    MachineFixture fixture("pack:2 [numa] core:6 pu:2");
    const auto placed =
        place(fixture.add("Package", 0, gpu(10)).add("Package", 0, gpu(11)).machine(), one_gpu_each(2));
    EXPECT_THAT(masks(placed), ElementsAre("0-5", "6-11"));
    EXPECT_THAT(threads(placed), Each(3));
}

TEST(PlaceGpus, UnevenBlocksDifferByOneCore) {
    MachineFixture fixture("pack:1 [numa] core:8 pu:2");
    for (int i = 0; i < 3; ++i) fixture.add("Machine", 0, gpu(10 + i));
    const auto placed = place(fixture.machine(), one_gpu_each(3));
    EXPECT_THAT(masks(placed), ElementsAre("0-5", "6-11", "12-15"));
    EXPECT_THAT(threads(placed), ElementsAre(3, 3, 2));
}

TEST(PlaceGpus, WithoutLocalityAllCoresAreShared) {
    MachineFixture fixture("pack:2 [numa] core:4 pu:1");
    for (int i = 0; i < 4; ++i) fixture.add("Machine", 0, gpu(10 + i));
    const auto placed = place(fixture.machine(), one_gpu_each(4));
    EXPECT_THAT(masks(placed), ElementsAre("0-1", "2-3", "4-5", "6-7"));
    EXPECT_THAT(placed[2].reason, HasSubstr("does not tell which are near GPU 2"));
}

TEST(PlaceGpus, TheCgroupTookTheLocalCores) {
    MachineFixture fixture("pack:2 [numa] core:4 pu:1");
    fixture.add("Package", 0, gpu(10)).add("Package", 1, gpu(11));
    const auto some = place(fixture.allow(CpuSet::parse("1-3,7")).machine(), one_gpu_each(2));
    EXPECT_THAT(masks(some), ElementsAre("1-3", "7"));
    EXPECT_THAT(threads(some), ElementsAre(3, 1));

    const auto none = place(fixture.allow(CpuSet::parse("0-3")).machine(), one_gpu_each(2));
    EXPECT_THAT(masks(none), ElementsAre("0-1", "2-3"));
    EXPECT_THAT(none[1].reason, HasSubstr("none near GPU 1 is allowed here"));

    const Machine bound = restricted(fixture.allow(CpuSet::parse("0-7")).machine(), CpuSet::parse("0-1,4"));
    EXPECT_THAT(masks(place(bound, one_gpu_each(2))), ElementsAre("0-1", "4"));
}

TEST(PlaceGpus, SeveralGpusARank) {
    MachineFixture fixture("pack:2 [numa] core:8 pu:1");
    for (int i = 0; i < 8; ++i) fixture.add("Package", i / 4, gpu(10 + i));
    const Machine machine = fixture.machine();
    EXPECT_THAT(masks(place(machine, Ranks{{0, 1}, {2, 3}, {4, 5}, {6, 7}})),
                ElementsAre("0-3", "4-7", "8-11", "12-15"));
    const auto across = place(machine, Ranks{{0, 4}, {1, 5}});
    EXPECT_THAT(masks(across), ElementsAre("0-7", "8-15"));
    EXPECT_EQ(across[0].reason, "near GPUs 0,4, cores divided among 2 ranks");
    const auto all = place(machine, Ranks{{0, 1, 2, 3, 4, 5, 6, 7}});
    EXPECT_THAT(masks(all), ElementsAre("0-15"));
    EXPECT_THAT(all[0].numa_nodes, ElementsAre(0, 1));
    EXPECT_EQ(all[0].threads, 16);
}

TEST(PlaceGpus, TheSmallerLocalityChoosesFirst) {
    MachineFixture fixture("pack:1 group:2 [numa] core:4 pu:1");
    // GPU 0 is near the whole package, GPU 1 near its first half.
    const Machine machine = fixture.add("Package", 0, gpu(10)).add("Group", 0, gpu(11)).machine();
    EXPECT_THAT(masks(place(machine, one_gpu_each(2))), ElementsAre("4-7", "0-3"));
}

TEST(PlaceGpus, ALargerLocalityWithNothingLeftIsShared) {
    MachineFixture fixture("pack:2 [numa] core:4 pu:1");
    const Machine machine = fixture.add("Package", 0, gpu(10)).add("Package", 1, gpu(11)).machine();
    const auto placed = place(machine, Ranks{{0}, {1}, {0, 1}});
    EXPECT_THAT(masks(placed), ElementsAre("0-3", "4-7", "0-7"));
    // 4 cores by 2 ranks, 4 by 2, 8 by 3.
    EXPECT_THAT(threads(placed), ElementsAre(2, 2, 2));
    for (const auto& rank : placed) EXPECT_TRUE(rank.shared);
    EXPECT_THAT(placed[2].reason, HasSubstr("other ranks took these cores first"));
}

TEST(PlaceGpus, MoreRanksThanCoresNearTheGpus) {
    MachineFixture fixture("pack:2 [numa] core:2 pu:2");
    for (int i = 0; i < 5; ++i) fixture.add("Package", i == 4 ? 1 : 0, gpu(10 + i));
    const auto by_thread = place(fixture.machine(), one_gpu_each(5));
    EXPECT_THAT(masks(by_thread), ElementsAre("0", "1", "2", "3", "4-7"));
    EXPECT_THAT(threads(by_thread), ElementsAre(1, 1, 1, 1, 2));
    EXPECT_FALSE(any_shared(by_thread));
    EXPECT_THAT(by_thread[0].reason, HasSubstr("more ranks than cores"));

    const auto shared = place(fixture.machine(), Ranks{{0}, {0}, {1}, {2}, {3}, {4}});
    EXPECT_THAT(masks(shared), ElementsAre("0-3", "0-3", "0-3", "0-3", "0-3", "4-7"));
    EXPECT_THAT(threads(shared), ElementsAre(1, 1, 1, 1, 1, 2));
    EXPECT_TRUE(shared[4].shared);
    EXPECT_FALSE(shared[5].shared);
    EXPECT_THAT(shared[0].reason, HasSubstr("5 ranks for 4 hardware threads"));
}

TEST(PlaceGpus, CpuRanksBesideGpuRanksTakeWhatIsLeft) {
    MachineFixture fixture("pack:2 [numa] core:4 pu:1");
    const auto placed = place(fixture.add("Package", 0, gpu(10)).machine(), Ranks{{0}, {}, {}});
    EXPECT_THAT(masks(placed), ElementsAre("0-3", "4-5", "6-7"));
    EXPECT_FALSE(any_shared(placed));
}

TEST(PlaceGpus, AnIndexThatIsNotThere) {
    MachineFixture fixture("pack:1 [numa] core:2 pu:1");
    const auto refusal = [](const Machine& machine, int index) {
        return tests::message_of([&] { place(machine, Ranks{{index}}); });
    };
    EXPECT_THAT(refusal(fixture.machine(), 0), HasSubstr("no GPU"));
    fixture.add("Machine", 0, gpu(10)).add("Machine", 0, gpu(11));
    EXPECT_THAT(refusal(fixture.machine(), 9),
                HasSubstr("GPU 9 was asked for, but this machine has GPUs 0-1"));
    EXPECT_THAT(refusal(fixture.machine(), -1), HasSubstr("GPU -1"));
}

TEST(PlaceCpuRanks, OneRankHasTheMachine) {
    const auto placed = place(MachineFixture("pack:2 [numa] core:3 pu:2").machine(), cpu_ranks(1));
    EXPECT_THAT(masks(placed), ElementsAre("0-11"));
    EXPECT_EQ(placed[0].threads, 6);
    EXPECT_THAT(placed[0].numa_nodes, ElementsAre(0, 1));
    EXPECT_EQ(placed[0].reason, "CPU rank");
}

TEST(PlaceCpuRanks, FewerRanksThanMemoryNodesGetBlocksOfNodes) {
    const Machine machine = MachineFixture("pack:2 group:4 [numa] core:2 pu:1").machine();
    const auto placed = place(machine, cpu_ranks(3));
    EXPECT_THAT(masks(placed), ElementsAre("0-5", "6-11", "12-15"));
    EXPECT_THAT(nodes(placed), ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5), ElementsAre(6, 7)));
}

TEST(PlaceCpuRanks, MoreRanksThanMemoryNodesStayWithinOne) {
    const Machine machine = MachineFixture("pack:2 [numa] core:4 pu:2").machine();
    EXPECT_THAT(masks(place(machine, cpu_ranks(2))), ElementsAre("0-7", "8-15"));
    const auto three = place(machine, cpu_ranks(3));
    EXPECT_THAT(masks(three), ElementsAre("0-3", "4-7", "8-15"));
    EXPECT_THAT(threads(three), ElementsAre(2, 2, 4));
    EXPECT_THAT(nodes(three), ElementsAre(ElementsAre(0), ElementsAre(0), ElementsAre(1)));
    EXPECT_THAT(masks(place(machine, cpu_ranks(5))), ElementsAre("0-3", "4-5", "6-7", "8-11", "12-15"));
}

TEST(PlaceCpuRanks, ProportionalToTheCoresThatTheCgroupLeft) {
    MachineFixture fixture("pack:2 [numa] core:8 pu:1");
    // Six cores on the first memory node and two on the second: four ranks go 3 to 1.
    const Machine machine = fixture.allow(CpuSet::parse("0-5,8-9")).machine();
    EXPECT_THAT(masks(place(machine, cpu_ranks(4))), ElementsAre("0-1", "2-3", "4-5", "8-9"));
    // Five and two: three ranks are 2.14 and 0.86 of them.
    EXPECT_THAT(masks(place(fixture.allow(CpuSet::parse("0-4,8-9")).machine(), cpu_ranks(3))),
                ElementsAre("0-2", "3-4", "8-9"));
}

TEST(PlaceCpuRanks, MoreRanksThanCores) {
    const Machine machine = MachineFixture("pack:2 [numa] core:2 pu:2(indexes=0,4,1,5,2,6,3,7)").machine();
    EXPECT_THAT(masks(place(machine, cpu_ranks(4))), ElementsAre("0,4", "1,5", "2,6", "3,7"));
    const auto six = place(machine, cpu_ranks(6));
    EXPECT_THAT(masks(six), ElementsAre("0,4", "1", "5", "2,6", "3", "7"));
    EXPECT_THAT(threads(six), Each(1));
    EXPECT_FALSE(any_shared(six));
    const auto nine = place(machine, cpu_ranks(9));
    EXPECT_THAT(masks(nine), Each("0-7"));
    EXPECT_THAT(threads(nine), Each(1));
    EXPECT_TRUE(nine[8].shared);
}

TEST(PlaceCpuRanks, SharingRanksDivideTheCores) {
    // 5 ranks on 4 threads of a core each: by thread they would get less than a core, and one thread stays.
    const auto placed = place(MachineFixture("pack:1 [numa] core:4 pu:4").machine(), cpu_ranks(5));
    EXPECT_THAT(threads(placed), Each(1));
    EXPECT_THAT(masks(placed), ElementsAre("0-3", "4-6", "7-9", "10-12", "13-15"));
}

TEST(PlaceCpuRanks, NoRankNoPlacement) {
    EXPECT_TRUE(place(MachineFixture("pack:1 core:1 pu:1").machine(), Ranks{}).empty());
}

TEST(PlaceCpuRanks, AMachineWithoutAllowedProcessors) {
    const Machine machine = restricted(MachineFixture("pack:1 core:2 pu:1").machine(), CpuSet::parse("7"));
    EXPECT_THROW(place(machine, cpu_ranks(1)), Error);
}

TEST(PlaceAdapters, TheOneBehindTheSameSwitchThenInTurn) {
    MachineFixture fixture("pack:2 [numa] core:4 pu:1");
    const auto nic = [](const std::string& address, const std::string& name, const std::string& port) {
        return PciDevice{address, infiniband_class, port, {{name, 3}}};
    };
    // In each package the GPU with the lower address shares its switch with the adapter of the higher one.
    for (const int package : {0, 1}) {
        const std::string p = std::to_string(package);
        fixture.add("Package", package, {"0000:" + p + "2:00.0", h100_class, "0000:" + p + "0:02.0"})
            .add("Package", package, {"0000:" + p + "4:00.0", h100_class, "0000:" + p + "0:01.0"})
            .add("Package", package, nic("0000:" + p + "3:00.0", "mlx5_" + p + "0", "0000:" + p + "0:01.0"))
            .add("Package", package, nic("0000:" + p + "5:00.0", "mlx5_" + p + "1", "0000:" + p + "0:02.0"));
    }
    const Machine machine = fixture.machine();
    EXPECT_THAT(adapters(place(machine, one_gpu_each(4))),
                ElementsAre("mlx5_01", "mlx5_00", "mlx5_11", "mlx5_10"));
    EXPECT_THAT(adapters(place(machine, cpu_ranks(4))),
                ElementsAre("mlx5_00", "mlx5_01", "mlx5_10", "mlx5_11"));
    EXPECT_THAT(adapters(place(machine, Ranks{{2}})), ElementsAre("mlx5_11"));
}

TEST(PlaceAdapters, TheOneOnTheSameBus) {
    // As AWS's p4d shows itself: two GPUs and one adapter a bus, no switches.
    MachineFixture fixture("pack:1 [numa] core:8 pu:1");
    for (const std::string bus : {"10", "20"})
        fixture.add("Machine", 0, {"0000:" + bus + ":1c.0"})
            .add("Machine", 0, {"0000:" + bus + ":1d.0"})
            .add("Machine", 0, {"0000:" + bus + ":1b.0", infiniband_class, "", {{"efa" + bus, 3}}});
    EXPECT_THAT(adapters(place(fixture.machine(), one_gpu_each(4))),
                ElementsAre("efa10", "efa10", "efa20", "efa20"));
}

TEST(PlaceAdapters, BusesOfTwoDomainsAreTwo) {
    MachineFixture fixture("pack:1 [numa] core:4 pu:1");
    for (const std::string domain : {"0000", "0001"})
        fixture.add("Machine", 0, {domain + ":10:1c.0"})
            .add("Machine", 0, {domain + ":10:1b.0", infiniband_class, "", {{"efa" + domain, 3}}});
    EXPECT_THAT(adapters(place(fixture.machine(), Ranks{{1}})), ElementsAre("efa0001"));
}

TEST(PlaceAdapters, RdmaThenNearnessThenTurns) {
    MachineFixture fixture("pack:2 group:2 [numa] core:2 pu:1");
    fixture.add("Group", 0, {"0000:05:00.0", ethernet_class, "", {{"eth0", 2}}});
    const auto with_ethernet = place(fixture.machine(), cpu_ranks(2));
    EXPECT_THAT(adapters(with_ethernet), Each("eth0"));

    fixture.add("Group", 1, {"0000:98:00.0", infiniband_class, "", {{"mlx5_0", 3}, {"ib0", 2}}})
        .add("Group", 3, {"0000:18:00.0", infiniband_class, "", {{"mlx5_1", 3}, {"ib1", 2}}});
    // Nodes 0 and 2 have no adapter; the nearest one is in their package.
    EXPECT_THAT(adapters(place(fixture.machine(), cpu_ranks(4))),
                ElementsAre("mlx5_0", "mlx5_0", "mlx5_1", "mlx5_1"));
}

TEST(PlaceAdapters, UnknownLocalityIsDealtOut) {
    MachineFixture fixture("pack:2 [numa] core:2 pu:1");
    for (int i = 0; i < 2; ++i)
        fixture.add(
            "Machine", 0,
            {"0000:2" + std::to_string(i) + ":00.0", infiniband_class, "", {{"efa" + std::to_string(i), 3}}});
    EXPECT_THAT(adapters(place(fixture.machine(), cpu_ranks(4))),
                ElementsAre("efa0", "efa1", "efa0", "efa1"));
}

TEST(PlaceAdapters, NoneOnTheMachine) {
    EXPECT_THAT(adapters(place(MachineFixture("pack:1 core:2 pu:1").machine(), cpu_ranks(2))), Each(""));
}

}  // namespace
}  // namespace dtrain::topology
