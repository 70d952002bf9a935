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
    std::optional<std::uint64_t> memory;  ///< bytes of the GPU's
    friend bool operator==(const GpuProcess&, const GpuProcess&) = default;
};

/// Why a GPU runs slower than it could although it has work. More than one at a time.
enum class GpuSlowdown : std::uint8_t { hot, power_brake, power_cap, hardware };

/// What NVIDIA's management library knows of a GPU at this moment; nothing for what this GPU does not tell.
struct GpuHealth {
    PciAddress pci;
    std::optional<std::uint64_t> uncorrected_errors;  ///< of its memory, since the driver was loaded
    bool row_failed = false;   ///< a broken row of its memory could not be replaced by a spare one
    bool row_pending = false;  ///< a broken row or page is replaced at the next reset
    std::vector<GpuSlowdown> slowdowns;
    std::vector<GpuProcess> processes;  ///< that compute on it
    std::vector<Xid> xids;              ///< that the kernel has logged of it, see logged_xids()
    std::optional<int> utilization;     ///< percent of the last moments in which it computed
    std::optional<std::uint64_t> memory_used;
    std::optional<std::uint64_t> memory_total;  ///< bytes
    std::optional<double> watts;
    std::optional<int> celsius;
    friend bool operator==(const GpuHealth&, const GpuHealth&) = default;
};

/// Of all GPUs that this process is shown; empty where there is no such library or no GPU. A broken GPU may
/// keep the caller waiting for minutes.
std::vector<GpuHealth> ask_gpu_health(const std::string& library = NvmlLibrary::usual_name,
                                      const std::filesystem::path& kernel_log = usual_kernel_log);

/// Only how busy these GPUs are. @param gpus nothing: all
std::vector<GpuHealth> ask_gpu_load(const NvmlLibrary& nvml,
                                    const std::optional<std::vector<PciAddress>>& gpus);

/// The GPUs that a program with this CUDA_VISIBLE_DEVICES is shown; nothing where the machine does not tell
/// which these are. Pure.
std::optional<std::vector<PciAddress>> shown_gpus(const Machine& machine,
                                                  const std::optional<std::string>& cuda_visible_devices);

}  // namespace dtrain::topology
