// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/cpuset.hpp>
#include <dtrain/environment.hpp>

/// What machine this is, and where the ranks of a job belong on it.
namespace dtrain::topology {

struct PciAddress {
    std::uint32_t domain = 0;
    std::uint8_t bus = 0;
    std::uint8_t device = 0;
    std::uint8_t function = 0;

    /// "0000:5f:00.0", as in /sys/bus/pci/devices.
    std::string to_string() const;
    friend auto operator<=>(const PciAddress&, const PciAddress&) = default;
};

struct Core {
    int package = 0;   ///< counted from 0
    int numa = 0;      ///< operating system index of its nearest memory node; -1 when the machine tells none
    CpuSet cpus = {};  ///< its hardware threads, only those this process may use
    friend bool operator==(const Core&, const Core&) = default;
};

struct NumaNode {
    int os_index = 0;
    CpuSet cpus = {};  ///< empty when it has memory only (a GPU's, CXL) or none of its cores is allowed
    std::uint64_t memory_bytes = 0;
    friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

struct Gpu {
    int index = 0;  ///< position in PCI order, which is what CUDA means with CUDA_DEVICE_ORDER=PCI_BUS_ID
    PciAddress pci = {};
    std::string model = {};                   ///< "NVIDIA H200", or "" when nothing on the machine tells
    std::string uuid = {};                    ///< "GPU-...", or "" when nothing tells
    std::vector<std::string> mig_uuids = {};  ///< "MIG-...", the partitions of this GPU
    CpuSet local_cpus = {};    ///< the processors nearest to it that this process may use; may be empty
    bool has_locality = true;  ///< false: the machine does not say which are near, and local_cpus is empty
    /// The port of the processor that its PCI switch hangs off; devices with the same one share the switch.
    std::optional<PciAddress> root_port = {};
    friend bool operator==(const Gpu&, const Gpu&) = default;
};

struct NetworkAdapter {
    std::string name = {};  ///< "mlx5_0" or "eth0"
    PciAddress pci = {};
    bool rdma = false;       ///< InfiniBand or RoCE verbs device
    CpuSet local_cpus = {};  ///< as Gpu::local_cpus; empty too when the machine does not say
    std::optional<PciAddress> root_port = {};  ///< as Gpu::root_port
    friend bool operator==(const NetworkAdapter&, const NetworkAdapter&) = default;
};

/// A machine as far as dtrain cares, limited to what this process may use (cgroup, container).
struct Machine {
    std::string hostname = {};  ///< "" when a file does not tell
    CpuSet allowed = {};
    std::vector<Core> cores = {};  ///< package by package, memory node by memory node
    std::vector<NumaNode> numa_nodes = {};
    std::vector<Gpu> gpus =
        {};  ///< PCI order; on this system only those that its driver lets this process use
    std::vector<NetworkAdapter> adapters = {};  ///< RDMA first, then PCI order
    bool is_this_system = true;  ///< false: read from HWLOC_XMLFILE, so masks must not be applied here
    friend bool operator==(const Machine&, const Machine&) = default;
};

/// Reads the machine through hwloc. Honours hwloc's own HWLOC_XMLFILE, HWLOC_THISSYSTEM and friends.
/// @throws UsageError when HWLOC_XMLFILE names a file that hwloc cannot read.
Machine discover();

/// The same machine for a process that may use only `cpus` of it (its sched_getaffinity mask, say). Pure.
Machine restricted(Machine machine, const CpuSet& cpus);

/// One entry of CUDA_VISIBLE_DEVICES, or of the machine when that is not set.
struct VisibleGpu {
    std::string id = {};  ///< as the user wrote it: "3", "GPU-8932f937", "MIG-..."; the index when unset
    std::optional<int> index = {};  ///< Gpu::index, or nothing when the machine shows no such GPU
    friend bool operator==(const VisibleGpu&, const VisibleGpu&) = default;
};

/// What a CUDA program started with this value of CUDA_VISIBLE_DEVICES would see: indices, GPU-uuid and
/// MIG-uuid with unique prefixes; like CUDA, the list ends at the first entry that is no device ("-1", "").
/// Indices beyond a machine on which hwloc shows no GPU at all (WSL2, tests) are kept without `index`.
/// @throws UsageError naming the entry when it is repeated or an ambiguous prefix.
std::vector<VisibleGpu> visible_gpus(const Machine& machine,
                                     const std::optional<std::string>& cuda_visible_devices);

/// Where one rank of this node belongs.
struct Placement {
    std::vector<int> gpus = {};        ///< Gpu::index of its devices; empty for a CPU rank or unknown devices
    CpuSet cpus = {};                  ///< never empty
    std::vector<int> numa_nodes = {};  ///< memory nodes of `cpus`, operating system numbers
    int threads = 1;      ///< compute threads that fit: cores of `cpus` divided by the ranks sharing them
    bool shared = false;  ///< other ranks have some of the same processors
    std::string adapter = {};  ///< nearest network adapter, RDMA first, or ""
    std::string reason = {};   ///< one clause for people: why these processors
    friend bool operator==(const Placement&, const Placement&) = default;
};

/// Places the ranks of one node, in local rank order. Pure.
/// @param gpus_of_rank for each local rank the Gpu::index of its devices; an empty list is a CPU rank
/// Ranks near the same GPU locality share its cores evenly; CPU ranks are spread over memory nodes in
/// contiguous blocks of whole cores; with more ranks than cores they divide the hardware threads, with more
/// ranks than those all share. Where localities overlap, the smaller one takes its cores first.
/// @throws UsageError when an index is not on the machine.
/// @throws Error when the machine allows no processor at all.
std::vector<Placement> place(const Machine& machine, std::span<const std::vector<int>> gpus_of_rank);

}  // namespace dtrain::topology
