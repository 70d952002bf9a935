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

/// Hardware topology of this machine, and placement of a job's ranks on it.
namespace dtrain::topology {

/// Where a device is on the PCI bus.
struct PciAddress {
    std::uint32_t domain = 0;   ///< number of the bus hierarchy
    std::uint8_t bus = 0;       ///< number of the bus
    std::uint8_t device = 0;    ///< number of the device on the bus
    std::uint8_t function = 0;  ///< number of the function of the device

    /// "0000:5f:00.0", as in /sys/bus/pci/devices.
    std::string to_string() const;
    friend auto operator<=>(const PciAddress&, const PciAddress&) = default;
};

/// A core of a processor.
struct Core {
    int package = 0;   ///< counted from 0
    int numa = 0;      ///< operating system index of its nearest NUMA node; -1 if the machine reports none
    CpuSet cpus = {};  ///< its hardware threads that this process may use
    friend bool operator==(const Core&, const Core&) = default;
};

/// Memory and the processors nearest to it.
struct NumaNode {
    int os_index = 0;  ///< the operating system's number
    CpuSet cpus = {};  ///< empty if it has memory only (of a GPU, CXL) or none of its cores is allowed
    std::uint64_t memory_bytes = 0;  ///< size of its memory
    friend bool operator==(const NumaNode&, const NumaNode&) = default;
};

/// A GPU of this machine.
struct Gpu {
    int index = 0;        ///< index in PCI order, which is CUDA's numbering with CUDA_DEVICE_ORDER=PCI_BUS_ID
    PciAddress pci = {};  ///< where it is
    std::string model = {};                   ///< "NVIDIA H200", or "" if unknown
    std::string uuid = {};                    ///< "GPU-...", or "" if unknown
    std::vector<std::string> mig_uuids = {};  ///< "MIG-...", the partitions of this GPU
    CpuSet local_cpus = {};    ///< the nearest processors that this process may use; may be empty
    bool has_locality = true;  ///< false: the machine does not report which are near, and local_cpus is empty
    /// The root port of its PCI switch; devices with the same root port share the switch.
    std::optional<PciAddress> root_port = {};
    friend bool operator==(const Gpu&, const Gpu&) = default;
};

/// A network adapter of this machine.
struct NetworkAdapter {
    std::string name = {};   ///< "mlx5_0" or "eth0"
    PciAddress pci = {};     ///< where it is
    bool rdma = false;       ///< InfiniBand or RoCE verbs device
    CpuSet local_cpus = {};  ///< as Gpu::local_cpus; also empty if the machine does not report it
    std::optional<PciAddress> root_port = {};  ///< as Gpu::root_port
    friend bool operator==(const NetworkAdapter&, const NetworkAdapter&) = default;
};

/// The parts of a machine that dtrain uses, limited to what this process may use (cgroup, container).
struct Machine {
    std::string hostname = {};              ///< "" if a topology file does not contain it
    CpuSet allowed = {};                    ///< processors that this process may use
    std::vector<Core> cores = {};           ///< ordered by package, then by NUMA node
    std::vector<NumaNode> numa_nodes = {};  ///< in the operating system's order
    std::vector<Gpu> gpus =
        {};  ///< PCI order; on this system only those that its driver lets this process use
    std::vector<NetworkAdapter> adapters = {};  ///< RDMA first, then PCI order
    bool is_this_system = true;  ///< false: read from HWLOC_XMLFILE, so masks must not be applied here
    friend bool operator==(const Machine&, const Machine&) = default;
};

/// Reads the machine through hwloc. Respects hwloc's variables HWLOC_XMLFILE, HWLOC_THISSYSTEM etc.
/// @throws UsageError if HWLOC_XMLFILE names a file that hwloc cannot read.
Machine discover();

/// The same machine for a process that may use only `cpus` of it (for example its sched_getaffinity mask).
/// Pure.
Machine restricted(Machine machine, const CpuSet& cpus);

/// One entry of CUDA_VISIBLE_DEVICES, or of the machine if that is not set.
struct VisibleGpu {
    std::string id = {};  ///< as the user wrote it: "3", "GPU-8932f937", "MIG-..."; the index when unset
    std::optional<int> index = {};  ///< Gpu::index, or nothing if the machine has no such GPU
    friend bool operator==(const VisibleGpu&, const VisibleGpu&) = default;
};

/// The GPUs that a CUDA program with this value of CUDA_VISIBLE_DEVICES would see: indices, and unique
/// prefixes of GPU and MIG uuids; as in CUDA, the list ends at the first entry that is not a device ("-1",
/// ""). Indices on a machine for which hwloc reports no GPU at all (WSL2, tests) are kept without `index`.
/// @throws UsageError naming the entry if it is repeated or an ambiguous prefix.
std::vector<VisibleGpu> visible_gpus(const Machine& machine,
                                     const std::optional<std::string>& cuda_visible_devices);

/// The placement of one rank of this node.
struct Placement {
    std::vector<int> gpus = {};        ///< Gpu::index of its devices; empty for a CPU rank or unknown devices
    CpuSet cpus = {};                  ///< never empty
    std::vector<int> numa_nodes = {};  ///< NUMA nodes of `cpus`, operating system numbers
    int threads = 1;      ///< compute threads: cores of `cpus` divided by the number of ranks that share them
    bool shared = false;  ///< other ranks use some of the same processors
    std::string adapter = {};  ///< nearest network adapter, RDMA first, or ""
    std::string reason = {};   ///< one clause for readers: why these processors
    friend bool operator==(const Placement&, const Placement&) = default;
};

/// Places the ranks of one node, in local rank order. Pure.
/// @param gpus_of_rank for each local rank the Gpu::index of its devices; an empty list is a CPU rank
///
/// Ranks near the same GPU locality share its cores evenly; CPU ranks are spread over NUMA nodes in
/// contiguous blocks of whole cores; with more ranks than cores they divide the hardware threads, and with
/// more ranks than hardware threads all share them. Where localities overlap, the smaller one takes its cores
/// first.
/// @throws UsageError if an index is not on the machine.
/// @throws Error if no processor of the machine may be used.
std::vector<Placement> place(const Machine& machine, std::span<const std::vector<int>> gpus_of_rank);

}  // namespace dtrain::topology
