// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/fixture.hpp"

#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <hwloc.h>
#include <hwloc/export.h>

#include "topology/discover.hpp"
#include "topology/hwloc_topology.hpp"

namespace dtrain::topology {
namespace {

void check(bool good, const std::string& what) {
    if (!good) throw std::runtime_error("fixture: " + what);
}

std::string bitmap_text(const CpuSet& cpus) {
    hwloc_bitmap_t bitmap = hwloc_bitmap_alloc();
    for (const int cpu : cpus.members()) hwloc_bitmap_set(bitmap, static_cast<unsigned>(cpu));
    std::array<char, 1024> text{};
    hwloc_bitmap_snprintf(text.data(), text.size(), bitmap);
    hwloc_bitmap_free(bitmap);
    return text.data();
}

}  // namespace

MachineFixture::MachineFixture(const std::string& synthetic) {
    keep_plugins_loaded();
    hwloc_topology_t topology = nullptr;
    check(hwloc_topology_init(&topology) == 0, "init");
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
    check(hwloc_topology_set_synthetic(topology, synthetic.c_str()) == 0, "synthetic " + synthetic);
    check(hwloc_topology_load(topology) == 0, "load");
    char* text = nullptr;
    int size = 0;
#if HWLOC_API_VERSION >= 0x00030000
    constexpr unsigned long format_2 = HWLOC_TOPOLOGY_EXPORT_XML_FLAG_V2;
#else
    constexpr unsigned long format_2 = 0;
#endif
    check(hwloc_topology_export_xmlbuffer(topology, &text, &size, format_2) == 0, "export");
    xml_ = text;
    hwloc_free_xmlbuffer(topology, text);
    hwloc_topology_destroy(topology);
}

MachineFixture& MachineFixture::add(std::string_view parent_type, int nth, const PciDevice& device) {
    // The exporter indents by level, so an object ends at the next "</object>" with its own indentation.
    std::size_t begin = 0;
    for (int i = 0; i <= nth; ++i) {
        begin = xml_.find(fmt::format("<object type=\"{}\"", parent_type), i == 0 ? 0 : begin + 1);
        check(begin != std::string::npos, fmt::format("no {} {}", parent_type, nth));
    }
    const std::size_t line = xml_.rfind('\n', begin) + 1;
    const std::string indentation = xml_.substr(line, begin - line);
    const std::size_t end = xml_.find("\n" + indentation + "</object>", begin);
    check(end != std::string::npos, "end of the object");

    const std::string domain = device.address.substr(0, 4);
    const auto gp = [&] { return next_gp_index_++; };
    std::string text = fmt::format(
        "<object type=\"Bridge\" gp_index=\"{}\" bridge_type=\"0-1\" depth=\"0\" "
        "bridge_pci=\"{}:[00-ff]\">\n",
        gp(), domain);
    int bridges = 1;
    for (const auto& port : {device.root_port, device.switch_port}) {
        if (port.empty()) continue;
        text += fmt::format(
            "<object type=\"Bridge\" gp_index=\"{}\" bridge_type=\"1-1\" depth=\"{}\" "
            "bridge_pci=\"{}:[01-ff]\" "
            "pci_busid=\"{}\" pci_type=\"0604 [8086:352a] [8086:0000] 30\" pci_link_speed=\"0.000000\">\n",
            gp(), bridges++, domain, port);
    }
    text += fmt::format(
        "<object type=\"PCIDev\" gp_index=\"{}\" pci_busid=\"{}\" pci_type=\"{}\" "
        "pci_link_speed=\"0.000000\">\n",
        gp(), device.address, device.type);
    for (const auto& os_device : device.os_devices) {
        text += fmt::format("<object type=\"OSDev\" gp_index=\"{}\" name=\"{}\" osdev_type=\"{}\">\n", gp(),
                            os_device.name, os_device.type);
        for (std::size_t i = 0; i + 1 < os_device.infos.size(); i += 2)
            text +=
                fmt::format("<info name=\"{}\" value=\"{}\"/>\n", os_device.infos[i], os_device.infos[i + 1]);
        text += "</object>\n";
    }
    for (int end_of = 0; end_of <= bridges; ++end_of) text += "</object>\n";
    xml_.insert(end + 1, text);
    return *this;
}

MachineFixture& MachineFixture::allow(const CpuSet& cpus) {
    const std::string key = "allowed_cpuset=\"";
    const std::size_t begin = xml_.find(key) + key.size();
    xml_.replace(begin, xml_.find('"', begin) - begin, bitmap_text(cpus));
    return *this;
}

MachineFixture& MachineFixture::describe(const std::string& name, const std::string& value) {
    const std::size_t begin = xml_.find("<info ");
    check(begin != std::string::npos, "infos");
    xml_.insert(begin, fmt::format("<info name=\"{}\" value=\"{}\"/>\n", name, value));
    return *this;
}

Machine MachineFixture::machine() const {
    Source source;
    source.xml_text = xml_;
    return discover_from(source);
}

}  // namespace dtrain::topology
