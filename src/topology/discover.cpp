// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/discover.hpp"

#include <algorithm>
#include <optional>

#include "topology/adapters.hpp"
#include "topology/gpu_names.hpp"
#include "topology/gpus.hpp"
#include "topology/hwloc_topology.hpp"
#include "topology/machine.hpp"
#include "topology/sysfs_adapters.hpp"

namespace dtrain::topology {

Machine discover_from(const Source& source) {
    const auto simple = source.sys.empty() ? std::nullopt : simple_adapters(source.sys);
    const HwlocTopology topology(source, simple ? Devices::none : Devices::on_the_pci_bus);
    Machine machine = read_machine(topology);
    machine.gpus = read_gpus(topology, machine.allowed);
    machine.adapters = simple ? placed_adapters(*simple, topology, machine.allowed)
                              : read_adapters(topology, machine.allowed);
    if (machine.is_this_system)
        machine.gpus = named_by_driver(machine.gpus, source.root, source.nvml_library);
    return machine;
}

bool speaks_to_hwloc(const Environment& environment) {
    return std::any_of(environment.begin(), environment.end(),
                       [](const auto& variable) { return variable.first.starts_with("HWLOC"); });
}

Machine discover() {
    const auto environment = Environment::of_this_process();
    Source source;
    source.xml_file = environment.get_or("HWLOC_XMLFILE", "");
    if (!speaks_to_hwloc(environment)) source.sys = "/sys";
    return discover_from(source);
}

}  // namespace dtrain::topology
