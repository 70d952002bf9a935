// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: machines described to hwloc by hand (synthetic string plus PCI objects), so every expected number
// follows from the description in the test; for the real machine, sysfs and sched_getaffinity.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "support/message_of.hpp"
#include "support/temporary_folder.hpp"
#include "topology/discover.hpp"
#include "topology/fixture.hpp"

namespace dtrain::topology {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CpuSet cpus(std::string_view list) {
    return CpuSet::parse(list);
}

std::vector<std::string> addresses(const Machine& machine) {
    std::vector<std::string> out;
    for (const auto& gpu : machine.gpus) out.push_back(gpu.pci.to_string());
    return out;
}

class Variable {
  public:
    Variable(const char* name, const std::string& value) : name_(name) { ::setenv(name, value.c_str(), 1); }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { ::unsetenv(name_); }

  private:
    const char* name_;
};

TEST(Discover, CoresMemoryAndThreads) {
    const Machine machine =
        MachineFixture("pack:2 [numa(memory=64GB)] core:2 pu:2(indexes=0,4,1,5,2,6,3,7)").machine();
    EXPECT_FALSE(machine.is_this_system);
    EXPECT_EQ(machine.allowed, cpus("0-7"));
    EXPECT_THAT(machine.cores, ElementsAre(Core{0, 0, cpus("0,4")}, Core{0, 0, cpus("1,5")},
                                           Core{1, 1, cpus("2,6")}, Core{1, 1, cpus("3,7")}));
    EXPECT_THAT(machine.numa_nodes, ElementsAre(NumaNode{0, cpus("0-1,4-5"), 64'000'000'000},
                                                NumaNode{1, cpus("2-3,6-7"), 64'000'000'000}));
    EXPECT_TRUE(machine.gpus.empty());
    EXPECT_TRUE(machine.adapters.empty());
}

TEST(Discover, MemoryNodeOfAPackageIsNotNearerThanThatOfTheCluster) {
    // Node 0 belongs to the whole package, nodes 1 and 2 to its halves, in hwloc's synthetic numbering.
    const Machine machine =
        MachineFixture("pack:1 [numa(indexes=2,0,1)] group:2 [numa] core:2 pu:1").machine();
    ASSERT_EQ(machine.numa_nodes.size(), 3U);
    ASSERT_EQ(machine.cores.size(), 4U);
    int whole = -1;
    for (const auto& node : machine.numa_nodes)
        if (node.cpus == machine.allowed) whole = node.os_index;
    ASSERT_NE(whole, -1);
    for (const auto& core : machine.cores) EXPECT_NE(core.numa, whole);
    EXPECT_NE(machine.cores[0].numa, machine.cores[3].numa);
}

TEST(Discover, HostnameOfTheDescribedMachine) {
    EXPECT_EQ(MachineFixture("pack:1 core:1 pu:1").describe("HostName", "node017").machine().hostname,
              "node017");
    EXPECT_EQ(MachineFixture("pack:1 core:1 pu:1").machine().hostname, "");
}

TEST(Discover, GpusAreInPciOrderWhateverTheOrderOfTheFile) {
    const Machine machine = MachineFixture("pack:2 [numa] core:4 pu:1")
                                .add("Package", 0, {"0000:5f:00.0"})
                                .add("Package", 0, {"0000:4e:00.0"})
                                .add("Package", 1, {"0001:02:00.0"})
                                .add("Package", 1, {"0000:cb:00.0"})
                                .machine();
    ASSERT_THAT(addresses(machine),
                ElementsAre("0000:4e:00.0", "0000:5f:00.0", "0000:cb:00.0", "0001:02:00.0"));
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(machine.gpus[static_cast<std::size_t>(i)].index, i);
        EXPECT_EQ(machine.gpus[static_cast<std::size_t>(i)].local_cpus, i < 2 ? cpus("0-3") : cpus("4-7"));
    }
}

TEST(Discover, OnlyNvidiaDisplayControllersAreGpus) {
    const Machine machine = MachineFixture("pack:1 [numa] core:2 pu:1")
                                .add("Machine", 0, {"0000:01:00.0", geforce_class})
                                .add("Machine", 0, {"0000:01:00.1", gpu_audio_class})
                                .add("Machine", 0, {"0000:02:00.0", nvswitch_class})
                                .add("Machine", 0, {"0000:03:00.0", aspeed_vga_class})
                                .add("Machine", 0, {"0000:04:00.0", h100_class})
                                .machine();
    EXPECT_THAT(addresses(machine), ElementsAre("0000:01:00.0", "0000:04:00.0"));
}

TEST(Discover, LocalityMayBeAMemoryNodeOrAPackage) {
    const Machine machine = MachineFixture("pack:2 group:4 [numa] core:4 pu:1")
                                .add("Group", 2, {"0000:10:00.0"})
                                .add("Group", 7, {"0000:20:00.0"})
                                .add("Package", 1, {"0000:30:00.0"})
                                .machine();
    ASSERT_EQ(machine.gpus.size(), 3U);
    EXPECT_EQ(machine.numa_nodes.size(), 8U);
    EXPECT_EQ(machine.gpus[0].local_cpus, cpus("8-11"));
    EXPECT_EQ(machine.gpus[1].local_cpus, cpus("28-31"));
    EXPECT_EQ(machine.gpus[2].local_cpus, cpus("16-31"));
}

TEST(Discover, NoLocalityBelowAMachineOfSeveralPackages) {
    MachineFixture two("pack:2 [numa] core:2 pu:1"), one("pack:1 [numa] core:2 pu:1");
    const Gpu far = two.add("Machine", 0, {"0000:10:00.0"}).machine().gpus.at(0);
    EXPECT_FALSE(far.has_locality);
    EXPECT_TRUE(far.local_cpus.empty());
    const Gpu near = one.add("Machine", 0, {"0000:10:00.0"}).machine().gpus.at(0);
    EXPECT_TRUE(near.has_locality);
    EXPECT_EQ(near.local_cpus, cpus("0-1"));
}

TEST(Discover, TheCgroupTakesCores) {
    MachineFixture fixture("pack:2 [numa] core:4 pu:2");
    fixture.add("Package", 0, {"0000:10:00.0"}).add("Package", 1, {"0000:20:00.0"});
    const Machine part = fixture.allow(cpus("2-3,5,8-9")).machine();
    EXPECT_EQ(part.allowed, cpus("2-3,5,8-9"));
    EXPECT_THAT(part.cores,
                ElementsAre(Core{0, 0, cpus("2-3")}, Core{0, 0, cpus("5")}, Core{1, 1, cpus("8-9")}));
    EXPECT_EQ(part.gpus.at(0).local_cpus, cpus("2-3,5"));
    EXPECT_EQ(part.gpus.at(1).local_cpus, cpus("8-9"));

    const Machine lost = fixture.allow(cpus("0-3")).machine();
    ASSERT_EQ(lost.gpus.size(), 2U);
    EXPECT_EQ(lost.gpus[0].local_cpus, cpus("0-3"));
    EXPECT_TRUE(lost.gpus[1].has_locality);
    EXPECT_TRUE(lost.gpus[1].local_cpus.empty());
}

TEST(Discover, NamesThatTheTopologyCarries) {
    const Machine machine =
        MachineFixture("pack:1 [numa] core:2 pu:1")
            .add("Machine", 0,
                 {.address = "0000:10:00.0",
                  .os_devices = {{"cuda0", 5, {"GPUVendor", "NVIDIA Corporation", "GPUModel", "NVIDIA H100"}},
                                 {"nvml0",
                                  1,
                                  {"GPUModel", "NVIDIA H100", "NVIDIAUUID", "GPU-11112222-aaaa"}}}})
            .add("Machine", 0, {.address = "0000:20:00.0", .os_devices = {{"card1", 1}, {"renderD128", 1}}})
            .machine();
    ASSERT_EQ(machine.gpus.size(), 2U);
    EXPECT_EQ(machine.gpus[0].uuid, "GPU-11112222-aaaa");
    EXPECT_EQ(machine.gpus[0].model, "NVIDIA H100");
    EXPECT_EQ(machine.gpus[1].uuid, "");
    EXPECT_EQ(machine.gpus[1].model, "");
}

TEST(Discover, AdaptersRdmaFirstThenPciOrder) {
    const Machine machine =
        MachineFixture("pack:2 [numa] core:2 pu:1")
            .add("Package", 1,
                 {"0000:a0:00.0", infiniband_class, "0000:90:01.0", {{"ib1", 2}, {"mlx5_1", 3}}})
            .add("Package", 0, {"0000:18:00.0", infiniband_class, "0000:10:01.0", {{"mlx5_0", 3}}})
            .add("Package", 0, {"0000:05:00.0", ethernet_class, "", {{"eth0", 2}}})
            .add("Package", 0, {"0000:17:00.0", h100_class, "0000:10:01.0", {{"card0", 1}}})
            .machine();
    const auto port = PciAddress{.bus = 0x10, .device = 1}, other_port = PciAddress{.bus = 0x90, .device = 1};
    EXPECT_THAT(machine.adapters,
                ElementsAre(NetworkAdapter{"mlx5_0", {.bus = 0x18}, true, cpus("0-1"), port},
                            NetworkAdapter{"mlx5_1", {.bus = 0xa0}, true, cpus("2-3"), other_port},
                            NetworkAdapter{"eth0", {.bus = 0x05}, false, cpus("0-1"), std::nullopt},
                            NetworkAdapter{"ib1", {.bus = 0xa0}, false, cpus("2-3"), other_port}));
    EXPECT_EQ(machine.gpus.at(0).root_port, port);
}

TEST(Discover, ThePortIsTheProcessorsAndNotTheSwitchs) {
    const Machine machine =
        MachineFixture("pack:1 [numa] core:2 pu:1")
            .add("Package", 0,
                 {.address = "0000:19:00.0", .root_port = "0000:15:01.0", .switch_port = "0000:18:02.0"})
            .machine();
    EXPECT_EQ(machine.gpus.at(0).root_port, (PciAddress{.bus = 0x15, .device = 1}));
}

TEST(Discover, ADescriptionWithoutCoresCountsProcessors) {
    MachineFixture fixture("pack:2 [numa] pu:3");
    const Machine machine = fixture.add("Package", 1, {"0000:10:00.0"}).machine();
    ASSERT_EQ(machine.cores.size(), 6U);
    EXPECT_EQ(machine.cores[3], (Core{1, 1, cpus("3")}));
    EXPECT_EQ(machine.gpus.at(0).local_cpus, cpus("3-5"));
}

TEST(Discover, HonoursHwlocsOwnVariable) {
    const tests::TemporaryFolder folder;
    const auto path = folder / "node.xml";
    std::ofstream(path)
        << MachineFixture("pack:1 [numa] core:3 pu:1").add("Machine", 0, {"0000:10:00.0"}).xml();
    {
        const Variable file("HWLOC_XMLFILE", path);
        const Machine machine = discover();
        EXPECT_EQ(machine.cores.size(), 3U);
        EXPECT_EQ(machine.gpus.size(), 1U);
        EXPECT_FALSE(machine.is_this_system);
    }
    {
        const Variable file("HWLOC_XMLFILE", path);
        const Variable mine("HWLOC_THISSYSTEM", "1");
        EXPECT_TRUE(discover().is_this_system);
    }
}

TEST(Discover, AFileThatHwlocCannotReadIsNamed) {
    const tests::TemporaryFolder folder;
    const auto path = folder / "garbage.xml";
    std::ofstream(path) << "<topology version=\"99.0\"><object type=\"Machine\"/></topology>\n";
    for (const std::string& name : {std::string("/nonexistent/node.xml"), path.string()}) {
        const Variable file("HWLOC_XMLFILE", name);
        EXPECT_THAT(tests::message_of([] { discover(); }), HasSubstr("HWLOC_XMLFILE=" + name));
    }
}

TEST(Discover, ThisMachine) {
    const Machine machine = discover();
    EXPECT_TRUE(machine.is_this_system);
    EXPECT_FALSE(machine.hostname.empty());
    EXPECT_TRUE(CpuSet::of_this_thread().is_subset_of(machine.allowed))
        << CpuSet::of_this_thread().to_string() << " in " << machine.allowed.to_string();
    CpuSet all;
    for (const auto& core : machine.cores) {
        EXPECT_FALSE(core.cpus.empty());
        EXPECT_FALSE(all.intersects(core.cpus));
        all = all | core.cpus;
    }
    EXPECT_EQ(all, machine.allowed);
    for (const auto& gpu : machine.gpus)
        EXPECT_TRUE(std::filesystem::exists("/sys/bus/pci/devices/" + gpu.pci.to_string()));
    for (const auto& adapter : machine.adapters)
        EXPECT_TRUE(std::filesystem::exists("/sys/bus/pci/devices/" + adapter.pci.to_string()));
}

TEST(Restricted, LimitsEverySet) {
    const Machine machine =
        restricted(MachineFixture("pack:2 [numa] core:2 pu:2")
                       .add("Package", 0, {"0000:10:00.0"})
                       .add("Package", 1, {"0000:20:00.0", ethernet_class, "", {{"eth0", 2}}})
                       .machine(),
                   cpus("1-3,100"));
    EXPECT_EQ(machine.allowed, cpus("1-3"));
    EXPECT_THAT(machine.cores, ElementsAre(Core{0, 0, cpus("1")}, Core{0, 0, cpus("2-3")}));
    EXPECT_EQ(machine.gpus.at(0).local_cpus, cpus("1-3"));
    EXPECT_TRUE(machine.adapters.at(0).local_cpus.empty());
    EXPECT_TRUE(machine.numa_nodes.at(1).cpus.empty());
}

TEST(PciAddress, IsWrittenAsInSysfs) {
    EXPECT_EQ((PciAddress{0x10000, 0xE1, 0x0f, 3}).to_string(), "10000:e1:0f.3");
    EXPECT_EQ((PciAddress{0, 5, 0, 0}).to_string(), "0000:05:00.0");
}

}  // namespace
}  // namespace dtrain::topology
