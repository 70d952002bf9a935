// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: on this machine, what hwloc finds on the PCI bus; folders laid out as Linux does
// (Documentation/ABI/testing/ sysfs-bus-pci, sysfs-class-net) otherwise.
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temporary_folder.hpp"
#include "topology/discover.hpp"
#include "topology/sysfs_adapters.hpp"

namespace dtrain::topology {
namespace {

namespace fs = std::filesystem;
using ::testing::Optional;
using ::testing::UnorderedElementsAre;

/// A sysfs with one NUMA node.
class Sysfs {
  public:
    Sysfs() {
        write("devices/system/node/online", "0");
        fs::create_directories(root() / "bus/pci/devices");
    }

    fs::path root() const { return folder_.path(); }

    void write(const fs::path& file, const std::string& line) {
        fs::create_directories((root() / file).parent_path());
        std::ofstream(root() / file) << line << '\n';
    }

    /// A device below these bridges: "pci0000:00/0000:00:01.0/0000:5f:00.0".
    Sysfs& device(const fs::path& way, const std::string& vendor, const std::string& type) {
        const auto folder = "devices" / way;
        write(folder / "vendor", vendor);
        write(folder / "class", type);
        fs::create_directory_symlink(root() / folder, root() / "bus/pci/devices" / way.filename());
        return *this;
    }

    /// "pci0000:00/0000:00:03.0/virtio2/net/eth0"
    Sysfs& adapter(const fs::path& way) {
        const auto of_its_class = root() / "class" / way.parent_path().filename();
        fs::create_directories(root() / "devices" / way);
        fs::create_directories(of_its_class);
        fs::create_directory_symlink(root() / "devices" / way, of_its_class / way.filename());
        return *this;
    }

  private:
    tests::TemporaryFolder folder_;
};

TEST(SimpleAdapters, AreThoseThatHwlocFindsOnThisMachine) {
    Source by_sysfs;
    by_sysfs.sys = "/sys";
    EXPECT_EQ(discover_from(by_sysfs), discover_from(Source()));
}

TEST(SimpleAdapters, OfEachClassWithTheirPlaces) {
    Sysfs sysfs;
    sysfs.device("pci0000:00/0000:00:03.0", "0x1af4", "0x020000")
        .adapter("pci0000:00/0000:00:03.0/virtio2/net/eth0");
    sysfs.device("pci0001:80/0001:80:01.1/0001:81:00.0", "0x15b3", "0x020700");
    sysfs.adapter("pci0001:80/0001:80:01.1/0001:81:00.0/infiniband/mlx5_0");
    sysfs.device("pci0000:00/0000:00:02.0", "0x1013", "0x030000");
    EXPECT_THAT(simple_adapters(sysfs.root()),
                Optional(UnorderedElementsAre(NetworkAdapter{.name = "eth0", .pci = {0, 0, 3, 0}},
                                              NetworkAdapter{.name = "mlx5_0",
                                                             .pci = {1, 0x81, 0, 0},
                                                             .rdma = true,
                                                             .root_port = PciAddress{1, 0x80, 1, 1}})));
}

TEST(SimpleAdapters, NotThoseWithoutAPlaceOnTheBus) {
    Sysfs sysfs;
    sysfs.adapter("virtual/net/lo").adapter("virtual/net/docker0").adapter("platform/soc/net/end0");
    EXPECT_THAT(simple_adapters(sysfs.root()), Optional(UnorderedElementsAre()));
}

TEST(SimpleAdapters, AreHwlocsToFindBesideGpus) {
    Sysfs sysfs;
    sysfs.device("pci0000:00/0000:00:03.0", "0x1af4", "0x020000")
        .adapter("pci0000:00/0000:00:03.0/virtio2/net/eth0");
    ASSERT_TRUE(simple_adapters(sysfs.root()));
    sysfs.device("pci0000:00/0000:00:05.0", "0x10de", "0x030200");
    EXPECT_EQ(simple_adapters(sysfs.root()), std::nullopt);
}

TEST(SimpleAdapters, AreHwlocsToFindWithSeveralNumaNodesOrUnknownOnes) {
    Sysfs sysfs;
    ASSERT_TRUE(simple_adapters(sysfs.root()));
    sysfs.write("devices/system/node/online", "0-1");
    EXPECT_EQ(simple_adapters(sysfs.root()), std::nullopt);
    fs::remove(sysfs.root() / "devices/system/node/online");
    EXPECT_EQ(simple_adapters(sysfs.root()), std::nullopt);
}

TEST(SimpleAdapters, AreHwlocsToClassifyWhereTheyAreNoNetworkControllers) {
    Sysfs sysfs;
    sysfs.device("pci0000:00/0000:00:14.0", "0x8086", "0x0c0330")
        .adapter("pci0000:00/0000:00:14.0/usb1/1-2/net/usb0");
    EXPECT_EQ(simple_adapters(sysfs.root()), std::nullopt);
}

TEST(SimpleAdapters, AreNoneWithoutAPciBus) {
    Sysfs sysfs;
    fs::remove_all(sysfs.root() / "bus");
    EXPECT_EQ(simple_adapters(sysfs.root()), std::nullopt);
}

}  // namespace
}  // namespace dtrain::topology
