// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <dtrain/device.hpp>
#include <dtrain/environment.hpp>

#include "kernels/gpu.hpp"

namespace dtrain::program {

struct DeviceChoice {
    Device device;
    std::string warning;  ///< set if a launcher assigned a GPU to the rank, but the CPU is used; else ""
    friend bool operator==(const DeviceChoice&, const DeviceChoice&) = default;
};

/// The requested device, or that of DTRAIN_DEVICE; else the GPU that a launcher assigned to the rank
/// (FLAGS_selected_gpus), unless something prevents its use; else the CPU. Pure.
/// @param why_no_gpu called only if the GPU comes from the launcher: what prevents its use, or ""
/// @throws UsageError if DTRAIN_DEVICE names no device
DeviceChoice choose_device(const std::optional<Device>& asked, const Environment& environment,
                           const std::function<std::string()>& why_no_gpu);

/// choose_device() on this machine: its warning is a line on stderr, once per process, on one rank of each
/// node.
/// @param needs_cpu why a GPU cannot do what the caller needs; "" if it can
Device device_to_use(const std::optional<Device>& asked, const Environment& environment,
                     std::string_view needs_cpu = {});

struct OpenGpu {
    std::shared_ptr<kernels::Gpu> gpu;
    int number = 0;
};

/// The GPU of this number, or the rank's. @throws UsageError if there is none
OpenGpu open_gpu_of_rank(const std::optional<int>& number, const Environment& environment, int node_rank);

}  // namespace dtrain::program
