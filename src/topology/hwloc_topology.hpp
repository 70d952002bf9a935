// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <hwloc.h>

#include <dtrain/topology.hpp>

#include "topology/discover.hpp"

namespace dtrain::topology {

enum class Devices { on_the_pci_bus, none };

/// Owns a loaded hwloc topology.
class HwlocTopology {
  public:
    /// @throws UsageError if the source is a file or text that hwloc cannot read.
    explicit HwlocTopology(const Source& source, Devices devices = Devices::on_the_pci_bus);

    hwloc_topology_t get() const { return topology_.get(); }

  private:
    struct Destroy {
        void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
    };
    std::unique_ptr<hwloc_topology, Destroy> topology_;
};

/// Loads hwloc's plugins once for the lifetime of the process. By default hwloc unloads them after the last
/// topology, and libpciaccess then loses its list of devices: a leak, and 5 ms for each further topology.
void keep_plugins_loaded();

/// The members of a finite bitmap; empty for a null pointer.
CpuSet to_cpuset(hwloc_const_bitmap_t bitmap);

/// The version of hwloc's API that this was compiled for, and that of the library in use: "2.8.0". hwloc does
/// not report its release at run time; releases 2.8 and 2.9 both have the API 2.8.0.
std::string hwloc_api_built();
std::string hwloc_api_running();

}  // namespace dtrain::topology
