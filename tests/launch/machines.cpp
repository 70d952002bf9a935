// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/machines.hpp"

#include <fmt/format.h>

namespace dtrain::launch::machines {
namespace {

constexpr int cores_of_socket = 16;
constexpr int first_second_thread = 32;
constexpr int gpus_of_socket = 4;

CpuSet socket_cpus(int socket) {
    const int first = socket * cores_of_socket;
    return CpuSet::range(first, first + cores_of_socket - 1) |
           CpuSet::range(first + first_second_thread, first + first_second_thread + cores_of_socket - 1);
}

}  // namespace

topology::Machine two_sockets() {
    topology::Machine machine{.hostname = "big", .allowed = CpuSet::range(0, 63)};
    for (int socket = 0; socket < 2; ++socket) {
        for (int core = socket * cores_of_socket; core < (socket + 1) * cores_of_socket; ++core)
            machine.cores.push_back(
                {.package = socket,
                 .numa = socket,
                 .cpus = CpuSet::range(core, core) |
                         CpuSet::range(core + first_second_thread, core + first_second_thread)});
        machine.numa_nodes.push_back({.os_index = socket, .cpus = socket_cpus(socket)});
        machine.adapters.push_back({.name = fmt::format("mlx5_{}", socket),
                                    .pci = {.bus = static_cast<std::uint8_t>(0x08 + 0x80 * socket)},
                                    .rdma = true,
                                    .local_cpus = socket_cpus(socket)});
    }
    return machine;
}

topology::Machine eight_gpus() {
    auto machine = two_sockets();
    for (int index = 0; index < 2 * gpus_of_socket; ++index)
        machine.gpus.push_back({.index = index,
                                .pci = {.bus = static_cast<std::uint8_t>(0x20 + 0x10 * index)},
                                .model = "NVIDIA H200",
                                .uuid = fmt::format("GPU-{}f3c2a10-0000-1111-2222-333344445555", index),
                                .local_cpus = socket_cpus(index / gpus_of_socket)});
    return machine;
}

topology::Machine eight_gpus_first_divided() {
    auto machine = eight_gpus();
    machine.gpus.front().mig_uuids = {"MIG-a1", "MIG-b2"};
    return machine;
}

topology::Machine laptop() {
    topology::Machine machine{.hostname = "small", .allowed = CpuSet::range(0, 1)};
    for (int core = 0; core < 2; ++core)
        machine.cores.push_back({.package = 0, .numa = 0, .cpus = CpuSet::range(core, core)});
    machine.numa_nodes.push_back({.os_index = 0, .cpus = machine.allowed});
    return machine;
}

}  // namespace dtrain::launch::machines
