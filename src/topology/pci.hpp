// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include <hwloc.h>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

using PciAttributes = hwloc_obj_attr_u::hwloc_pcidev_attr_s;

PciAddress address_of(const PciAttributes& attributes);

bool has_several_packages(hwloc_topology_t topology);

/// Where a PCI device is attached.
struct Attachment {
    CpuSet local_cpus;         ///< the allowed processors nearest to it
    bool has_locality = true;  ///< false: attached to a machine with several packages, near none of them
    std::optional<PciAddress> root_port;
};

Attachment attachment_of(hwloc_topology_t topology, hwloc_obj_t device, const CpuSet& allowed);

}  // namespace dtrain::topology
