// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/gpus.hpp"

#include <algorithm>

#include "topology/pci.hpp"

namespace dtrain::topology {
namespace {

/// PCI class 03xx: 0300 is a VGA controller (GeForce), 0302 a 3D controller (data centre). NVSwitches have
/// 0680.
bool is_nvidia_gpu(const PciAttributes& pci) {
    constexpr unsigned nvidia = 0x10de, display_controller = 0x03;
    return pci.vendor_id == nvidia && pci.class_id >> 8 == display_controller;
}

/// Takes the names of OS devices, which a topology written by hwloc with its NVML or CUDA components
/// contains.
void take_names(hwloc_obj_t device, Gpu& gpu) {
    for (auto* child = device->io_first_child; child != nullptr; child = child->next_sibling) {
        if (child->type != HWLOC_OBJ_OS_DEVICE) continue;
        if (const char* uuid = hwloc_obj_get_info_by_name(child, "NVIDIAUUID")) gpu.uuid = uuid;
        if (const char* model = hwloc_obj_get_info_by_name(child, "GPUModel")) gpu.model = model;
    }
}

}  // namespace

std::vector<Gpu> read_gpus(const HwlocTopology& topology, const CpuSet& allowed) {
    std::vector<Gpu> gpus;
    for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_pcidev(topology.get(), device)) != nullptr;) {
        if (!is_nvidia_gpu(device->attr->pcidev)) continue;
        const Attachment attachment = attachment_of(topology.get(), device, allowed);
        Gpu gpu;
        gpu.pci = address_of(device->attr->pcidev);
        gpu.local_cpus = attachment.local_cpus;
        gpu.has_locality = attachment.has_locality;
        gpu.root_port = attachment.root_port;
        take_names(device, gpu);
        gpus.push_back(std::move(gpu));
    }
    std::sort(gpus.begin(), gpus.end(), [](const Gpu& a, const Gpu& b) { return a.pci < b.pci; });
    for (std::size_t i = 0; i < gpus.size(); ++i) gpus[i].index = static_cast<int>(i);
    return gpus;
}

}  // namespace dtrain::topology
