// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/hwloc_topology.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fmt/format.h>

#include <dtrain/error.hpp>

namespace dtrain::topology {
namespace {

/// These components initialize the GPU drivers, which takes up to seconds, for info that /proc and NVML have,
/// too.
void leave_out_slow_components(hwloc_topology_t topology) {
    if (std::getenv("HWLOC_COMPONENTS") != nullptr) return;
    for (const char* name : {"opencl", "cuda", "nvml", "rsmi", "levelzero", "gl"})
        hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, name);
}

[[noreturn]] void refuse(const Source& source, int error) {
    const std::string reason = std::generic_category().message(error);
    if (!source.xml_file.empty())
        throw UsageError(
            fmt::format("HWLOC_XMLFILE={} cannot be read as a topology ({}); unset it, or write the file "
                        "with \"lstopo {}\" "
                        "of an hwloc of the same major version",
                        source.xml_file, reason, source.xml_file));
    throw UsageError(fmt::format("hwloc cannot read the topology ({}); run \"lstopo\" to see why", reason));
}

std::string api_text(unsigned version) {
    return fmt::format("{}.{}.{}", version >> 16, version >> 8 & 0xff, version & 0xff);
}

}  // namespace

void keep_plugins_loaded() {
    static const hwloc_topology_t kept = [] {
        hwloc_topology_t topology = nullptr;
        return hwloc_topology_init(&topology) == 0 ? topology : nullptr;
    }();
    if (kept == nullptr) throw Error("hwloc does not start: out of memory?");
}

HwlocTopology::HwlocTopology(const Source& source, Devices devices) {
    keep_plugins_loaded();
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) refuse(source, errno);
    topology_.reset(topology);
    if (devices == Devices::on_the_pci_bus)  // hwloc's default is none
        hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    // Takes effect only if the topology describes this system, also if it was read from a file.
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_THISSYSTEM_ALLOWED_RESOURCES);
    leave_out_slow_components(topology);
    if (!source.xml_text.empty()) {
        const int size = static_cast<int>(source.xml_text.size() + 1);
        if (hwloc_topology_set_xmlbuffer(topology, source.xml_text.c_str(), size) != 0) refuse(source, errno);
    } else if (!source.xml_file.empty()) {
        if (hwloc_topology_set_xml(topology, source.xml_file.c_str()) != 0) refuse(source, errno);
    }
    if (hwloc_topology_load(topology) != 0) refuse(source, errno);
}

CpuSet to_cpuset(hwloc_const_bitmap_t bitmap) {
    CpuSet set;
    if (bitmap == nullptr || hwloc_bitmap_weight(bitmap) < 0) return set;
    for (int cpu = hwloc_bitmap_first(bitmap); cpu >= 0; cpu = hwloc_bitmap_next(bitmap, cpu)) set.add(cpu);
    return set;
}

std::string hwloc_api_built() {
    return api_text(HWLOC_API_VERSION);
}

std::string hwloc_api_running() {
    return api_text(hwloc_get_api_version());
}

}  // namespace dtrain::topology
