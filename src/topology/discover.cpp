// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "topology/discover.hpp"

#include <dtrain/environment.hpp>

#include "topology/adapters.hpp"
#include "topology/gpu_names.hpp"
#include "topology/gpus.hpp"
#include "topology/hwloc_topology.hpp"
#include "topology/machine.hpp"

namespace dtrain::topology {

Machine discover_from(const Source& source) {
    const HwlocTopology topology(source);
    Machine machine = read_machine(topology);
    machine.gpus = read_gpus(topology, machine.allowed);
    machine.adapters = read_adapters(topology, machine.allowed);
    if (machine.is_this_system)
        machine.gpus = named_by_driver(machine.gpus, source.root, source.nvml_library);
    return machine;
}

Machine discover() {
    Source source;
    source.xml_file = Environment::of_this_process().get_or("HWLOC_XMLFILE", "");
    return discover_from(source);
}

}  // namespace dtrain::topology
