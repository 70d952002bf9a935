// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/sysfs_adapters.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "base/paths_in.hpp"
#include "base/small_file.hpp"
#include "base/text.hpp"

namespace dtrain::topology {
namespace {

namespace fs = std::filesystem;

/// PCI's vendors and classes, of which the first byte is the base class.
constexpr std::string_view nvidia = "0x10de", network_controller = "0x02";

/// Whether there is a device of NVIDIA's, which may be a GPU, or a switch of GPUs.
bool may_have_gpus(const fs::path& devices) {
    const fs::directory_iterator each(devices);
    return std::any_of(begin(each), end(each), [](const auto& device) {
        return trimmed_content(device.path() / "vendor") == nvidia;
    });
}

/// "0000:5f:00.0"
std::optional<PciAddress> parse_address(std::string_view text) {
    constexpr int hexadecimal = 16;
    const auto parts = split(text, ':');
    if (parts.size() != 3) return std::nullopt;
    const auto places = split(parts[2], '.');
    if (places.size() != 2) return std::nullopt;
    const auto domain = parse_int<std::uint32_t>(parts[0], hexadecimal);
    const auto bus = parse_int<std::uint8_t>(parts[1], hexadecimal);
    const auto device = parse_int<std::uint8_t>(places[0], hexadecimal);
    const auto function = parse_int<std::uint8_t>(places[1], hexadecimal);
    if (!domain || !bus || !device || !function) return std::nullopt;
    return PciAddress{.domain = *domain, .bus = *bus, .device = *device, .function = *function};
}

/// The PCI devices on the way to a device of sysfs, from the root port down: those of
/// .../pci0000:00/0000:00:01.0/0000:5f:00.0/net/eth0.
std::vector<PciAddress> addresses_in(const fs::path& device) {
    std::vector<PciAddress> addresses;
    for (const auto& part : device)
        if (const auto address = parse_address(part.string())) addresses.push_back(*address);
    return addresses;
}

/// Adds the adapters of a class of devices; false if one has to be classified.
bool add_adapters(const fs::path& sys, std::string_view device_class, std::vector<NetworkAdapter>& adapters) {
    for (const auto& path : paths_in(sys / "class" / device_class)) {
        const auto addresses = addresses_in(fs::canonical(path));
        if (addresses.empty()) continue;
        NetworkAdapter adapter{
            .name = path.filename(), .pci = addresses.back(), .rdma = device_class != "net"};
        if (addresses.size() > 1) adapter.root_port = addresses.front();
        const auto type = trimmed_content(sys / "bus/pci/devices" / adapter.pci.to_string() / "class");
        if (!type.starts_with(network_controller)) return false;
        adapters.push_back(std::move(adapter));
    }
    return true;
}

}  // namespace

std::optional<std::vector<NetworkAdapter>> simple_adapters(const fs::path& sys) try {
    if (trimmed_content(sys / "devices/system/node/online") != "0" || may_have_gpus(sys / "bus/pci/devices"))
        return std::nullopt;
    std::vector<NetworkAdapter> adapters;
    if (!add_adapters(sys, "net", adapters) || !add_adapters(sys, "infiniband", adapters))
        return std::nullopt;
    return adapters;
} catch (const fs::filesystem_error&) {  // no PCI bus, or a device that just went away
    return std::nullopt;
}

}  // namespace dtrain::topology
