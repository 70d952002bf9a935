// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/pci.hpp"

#include <fmt/format.h>

#include "topology/hwloc_topology.hpp"

namespace dtrain::topology {

std::string PciAddress::to_string() const {
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", domain, bus, device, function);
}

PciAddress address_of(const PciAttributes& attributes) {
    return {.domain = attributes.domain,
            .bus = attributes.bus,
            .device = attributes.dev,
            .function = attributes.func};
}

bool has_several_packages(hwloc_topology_t topology) {
    return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE) > 1;
}

Attachment attachment_of(hwloc_topology_t topology, hwloc_obj_t device, const CpuSet& allowed) {
    Attachment out;
    const auto* near = hwloc_get_non_io_ancestor_obj(topology, device);
    out.has_locality =
        near != nullptr && (near != hwloc_get_root_obj(topology) || !has_several_packages(topology));
    if (out.has_locality) out.local_cpus = to_cpuset(near->cpuset) & allowed;
    // On the way up, the last bridge between two PCI buses is the root port; above it is the host bridge.
    for (const auto* bridge = device->parent; bridge != nullptr && bridge->type == HWLOC_OBJ_BRIDGE;
         bridge = bridge->parent)
        if (bridge->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI)
            out.root_port = address_of(bridge->attr->bridge.upstream.pci);
    return out;
}

}  // namespace dtrain::topology
