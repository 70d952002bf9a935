// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

constexpr const char* h100_class = "0302 [10de:2330] [10de:16c1] a1";
constexpr const char* geforce_class = "0300 [10de:2684] [10de:16f3] a1";
constexpr const char* nvswitch_class = "0680 [10de:22a3] [10de:1796] a1";
constexpr const char* aspeed_vga_class = "0300 [1a03:2000] [1a03:2000] 52";
constexpr const char* gpu_audio_class = "0403 [10de:22ba] [10de:16f3] a1";
constexpr const char* infiniband_class = "0207 [15b3:1021] [15b3:0041] 00";
constexpr const char* ethernet_class = "0200 [8086:159b] [8086:0000] 02";

/// An operating system device as hwloc 2.x writes it.
struct OsDevice {
    std::string name;
    int type = 1;                         ///< 1 GPU, 2 network, 3 OpenFabrics
    std::vector<std::string> infos = {};  ///< name, value, name, value...
};

struct PciDevice {
    std::string address;
    std::string type = h100_class;
    /// Address of the port above its switch; "" hangs it straight off the host bridge.
    std::string root_port = {};
    std::vector<OsDevice> os_devices = {};
    std::string switch_port =
        {};  ///< address of the switch's own port, below the root port; "": no such bridge
};

/// Makes the XML of a machine: hwloc's own synthetic description, with PCI devices put into the text.
/// Synthetic processors are numbered core by core, so expected sets follow from the description.
class MachineFixture {
  public:
    explicit MachineFixture(const std::string& synthetic);

    /// Hangs a device under the nth object of a type, in document order: ("Package", 1).
    MachineFixture& add(std::string_view parent_type, int nth, const PciDevice& device);

    /// What a cgroup's cpuset leaves.
    MachineFixture& allow(const CpuSet& cpus);

    /// Sets an info of the Machine object.
    MachineFixture& describe(const std::string& name, const std::string& value);

    const std::string& xml() const { return xml_; }
    Machine machine() const;

  private:
    std::string xml_;
    int next_gp_index_ = 1'000'000;
};

}  // namespace dtrain::topology
