// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/adapters.hpp"

#include <algorithm>
#include <tuple>

#include "topology/pci.hpp"

namespace dtrain::topology {
namespace {

bool is_openfabrics(const hwloc_obj_attr_u::hwloc_osdev_attr_s& device) {
#if HWLOC_API_VERSION >= 0x00030000
    return (device.types & HWLOC_OBJ_OSDEV_OPENFABRICS) != 0;
#else
    return device.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
#endif
}

bool is_network(const hwloc_obj_attr_u::hwloc_osdev_attr_s& device) {
#if HWLOC_API_VERSION >= 0x00030000
    return (device.types & HWLOC_OBJ_OSDEV_NETWORK) != 0;
#else
    return device.type == HWLOC_OBJ_OSDEV_NETWORK;
#endif
}

hwloc_obj_t pci_parent(hwloc_obj_t device) {
    hwloc_obj_t parent = device->parent;
    while (parent != nullptr && parent->type == HWLOC_OBJ_OS_DEVICE) parent = parent->parent;
    return parent != nullptr && parent->type == HWLOC_OBJ_PCI_DEVICE ? parent : nullptr;
}

void sort_adapters(std::vector<NetworkAdapter>& adapters) {
    std::sort(adapters.begin(), adapters.end(), [](const NetworkAdapter& a, const NetworkAdapter& b) {
        return std::tie(b.rdma, a.pci, a.name) < std::tie(a.rdma, b.pci, b.name);
    });
}

}  // namespace

std::vector<NetworkAdapter> read_adapters(const HwlocTopology& topology, const CpuSet& allowed) {
    std::vector<NetworkAdapter> adapters;
    for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_osdev(topology.get(), device)) != nullptr;) {
        const bool rdma = is_openfabrics(device->attr->osdev);
        if ((!rdma && !is_network(device->attr->osdev)) || device->name == nullptr) continue;
        auto* const parent = pci_parent(device);
        if (parent == nullptr) continue;
        const Attachment attachment = attachment_of(topology.get(), parent, allowed);
        adapters.push_back({.name = device->name,
                            .pci = address_of(parent->attr->pcidev),
                            .rdma = rdma,
                            .local_cpus = attachment.local_cpus,
                            .root_port = attachment.root_port});
    }
    sort_adapters(adapters);
    return adapters;
}

std::vector<NetworkAdapter> placed_adapters(std::vector<NetworkAdapter> simple, const HwlocTopology& topology,
                                            const CpuSet& allowed) {
    if (!has_several_packages(topology.get()))
        for (auto& adapter : simple) adapter.local_cpus = allowed;
    sort_adapters(simple);
    return simple;
}

}  // namespace dtrain::topology
