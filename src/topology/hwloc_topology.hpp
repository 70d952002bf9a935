// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <hwloc.h>

#include <dtrain/topology.hpp>

#include "topology/discover.hpp"

namespace dtrain::topology {

/// Owns a loaded hwloc topology, PCI devices included.
class HwlocTopology {
  public:
    /// @throws UsageError when the source is a file or text that hwloc cannot read.
    explicit HwlocTopology(const Source& source);

    hwloc_topology_t get() const { return topology_.get(); }

  private:
    struct Destroy {
        void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
    };
    std::unique_ptr<hwloc_topology, Destroy> topology_;
};

/// The members of a finite bitmap; none for a null pointer.
CpuSet to_cpuset(hwloc_const_bitmap_t bitmap);

}  // namespace dtrain::topology
