// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/topology.hpp>

#include "topology/nvml_library.hpp"
#include "topology/xid.hpp"

namespace dtrain::topology {

struct GpuProcess {
    std::int64_t pid = 0;
    std::optional<std::uint64_t> memory;  ///< bytes of GPU memory
    friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

/// Reasons for a GPU to run below its maximum clock although it has work. Several may apply at a time.
enum class GpuSlowdown : std::uint8_t { hot, power_brake, power_cap, hardware };

/// Current info about a GPU from NVIDIA's management library (NVML); nothing for values that this GPU does
/// not report.
struct GpuHealth {
    PciAddress pci;
    std::optional<std::uint64_t> uncorrected_errors;  ///< memory errors since the driver was loaded
    bool row_failed = false;   ///< a faulty memory row could not be replaced by a spare one
    bool row_pending = false;  ///< a faulty memory row or page will be replaced at the next reset
    std::vector<GpuSlowdown> slowdowns;
    std::vector<GpuProcess> processes;  ///< compute processes on the GPU
    std::vector<Xid> xids;              ///< errors of it in the kernel log, see logged_xids()
    std::optional<int> utilization;     ///< percent of the last sampling period in which it computed
    std::optional<std::uint64_t> memory_used;
    std::optional<std::uint64_t> memory_total;  ///< bytes
    std::optional<double> watts;
    std::optional<int> celsius;
    friend bool operator==(const GpuHealth&, const GpuHealth&) = default;
};

/// The health of all GPUs that are visible to this process; empty if there is no NVML or no GPU. A broken GPU
/// may block the caller for minutes.
std::vector<GpuHealth> ask_gpu_health(const std::string& library = NvmlLibrary::usual_name,
                                      const std::filesystem::path& kernel_log = usual_kernel_log);

/// Only the load of these GPUs.
/// @param gpus nothing: all
std::vector<GpuHealth> ask_gpu_load(const NvmlLibrary& nvml,
                                    const std::optional<std::vector<PciAddress>>& gpus);

/// The GPUs that are visible to a program with this CUDA_VISIBLE_DEVICES; nothing if the machine does not
/// tell which these are. Pure.
std::optional<std::vector<PciAddress>> shown_gpus(const Machine& machine,
                                                  const std::optional<std::string>& cuda_visible_devices);

}  // namespace dtrain::topology
