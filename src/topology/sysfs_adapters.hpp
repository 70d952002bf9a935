// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include <dtrain/topology.hpp>

namespace dtrain::topology {

/// The network adapters of a machine without GPUs that has one NUMA node, so that all its processors are near
/// each of them. For these hwloc would read the configuration of every PCI device, which takes milliseconds
/// each in a virtual machine. Without `local_cpus`, and in no order.
/// @param sys where sysfs is: "/sys"
/// @returns nothing if the machine is another one, or has adapters that hwloc has to classify
std::optional<std::vector<NetworkAdapter>> simple_adapters(const std::filesystem::path& sys);

}  // namespace dtrain::topology
