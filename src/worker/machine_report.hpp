// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/cpuset.hpp>
#include <dtrain/environment.hpp>
#include <dtrain/topology.hpp>

#include "base/gpu_software.hpp"
#include "topology/gpu_health.hpp"

/// What `dtrain-worker --info` reports about a machine. Gathering and printing are separate: the report is a
/// value.
namespace dtrain::worker {

/// Versions of the libraries that dtrain was built with and runs on; "" means not built in, or not found.
struct VersionReport {
    std::string dtrain;
    std::string hwloc_built;    ///< the API that dtrain was compiled for, "2.8.0"
    std::string hwloc_running;  ///< the API of the loaded library
    std::string hdf5;
    std::string onednn;
    GpuSoftware gpu;
    friend bool operator==(const VersionReport&, const VersionReport&) = default;
};

struct MpiReport {
    std::string flavour;  ///< "Open MPI", "MPICH", ... of the library that dtrain is linked to; "": unknown
    std::string version;  ///< "4.1.4"
    std::string mpirun;   ///< its path in PATH; "" if not found
    std::string mpirun_version;  ///< "Open MPI 4.1.4"; "" if unknown
    friend bool operator==(const MpiReport&, const MpiReport&) = default;
};

/// CUDA_VISIBLE_DEVICES and the devices that it selects on this machine.
struct VisibleReport {
    std::optional<std::string> variable;
    std::vector<topology::VisibleGpu> devices;
    std::string error;  ///< why it is invalid; "" if it is valid
    friend bool operator==(const VisibleReport&, const VisibleReport&) = default;
};

/// How dtrain uses NCCL, and how the user has configured it.
struct NcclReport {
    struct Setting {
        std::string name;  ///< such as NCCL_DEBUG
        std::string value;
        friend bool operator==(const Setting&, const Setting&) = default;
    };
    std::vector<std::string> uses;  ///< features of newer NCCL versions; empty if NCCL is not built in
    std::string why_none;           ///< why NCCL cannot be used here; "" if it can, or is not built in
    std::vector<Setting> settings;  ///< all NCCL_* variables; dtrain passes them on unchanged
    friend bool operator==(const NcclReport&, const NcclReport&) = default;
};

struct MachineReport {
    topology::Machine machine;
    std::vector<topology::GpuHealth> health;  ///< of its GPUs, as far as the driver reports it
    CpuSet affinity;                          ///< the processors that this process may currently run on
    MpiReport mpi;
    std::string scheduler;  ///< "Slurm", "PBS", or ""
    std::string job_id;
    std::string launcher;  ///< as cluster::to_string names it; "": none
    VisibleReport visible;
    NcclReport nccl;
    VersionReport versions;
    friend bool operator==(const MachineReport&, const MachineReport&) = default;
};

/// Gathers everything that needs neither MPI nor CUDA, that is all but MPI's flavour and version, the
/// launcher, the use of NCCL, and the versions of libraries other than hwloc and dtrain. Runs `mpirun
/// --version`.
MachineReport machine_report(const topology::Machine& machine, const CpuSet& affinity,
                             const Environment& environment);

/// Flavour and version from the text that MPI_Get_library_version returns. Pure.
MpiReport mpi_of(std::string_view library_version);

/// "Open MPI 4.1.4" from the output of `mpirun --version`; "" if dtrain does not know that MPI. Pure.
std::string mpirun_version_of(std::string_view output);

/// Aligned text for people.
std::string as_text(const MachineReport& report);

/// One JSON object with these keys, all of them always present. Unknown values are null; sets of processors
/// are lists such as "0-3,8".
///   schema            1; incremented when a key changes its meaning or is removed, not when one is added
///   hostname          string or null
///   this_system       false when read from HWLOC_XMLFILE
///   packages, cores, hardware_threads   those allowed
///   allowed_cpus      what the cgroup or container allows
///   affinity_cpus     what this process may currently run on
///   numa_nodes        [{node, cpus, cores, memory_bytes}]
///   gpus              [{index, pci, model, uuid, mig_uuids, near_cpus, numa_nodes, adapter, health,
///   issues}];
///                     near_cpus is null if the machine does not tell, "" if none of them is allowed;
///                     health null or {uncorrected_errors, row_failed, row_pending, slowdowns, processes:
///                     [{pid, memory_bytes}], utilization_percent, memory_used_bytes, memory_total_bytes,
///                     watts, celsius}; issues [{fault, text, remedy}]
///   other_gpus        [{pci, health, issues}] that the driver reports and the topology does not
///   adapters          [{name, pci, rdma, near_cpus, numa_nodes}]
///   cuda_visible_devices   {value, devices: [{id, gpu}], error}; gpu is an index into gpus
///   nccl              {uses, settings: {name: value}}
///   mpi               {flavour, version, mpirun, mpirun_version}
///   job               {scheduler, job_id, launcher}
///   versions          {dtrain, hwloc_built, hwloc_running, hdf5, cuda_runtime, cuda_driver, gpu_driver,
///                     nccl, nccl_built, nccl_needed, nccl_cuda, onednn}, see GpuSoftware
std::string as_json(const MachineReport& report);

}  // namespace dtrain::worker
