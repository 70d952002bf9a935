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
    std::string warning;  ///< a launcher gave the rank a GPU, and the CPU computes; else ""
    friend bool operator==(const DeviceChoice&, const DeviceChoice&) = default;
};

/// What was asked for, or DTRAIN_DEVICE says; else the GPU that a launcher gave the rank
/// (FLAGS_selected_gpus), unless something is in its way; else the CPU. Pure.
/// @param why_no_gpu asked where the launcher alone says it: what is in the way, or ""
/// @throws UsageError when DTRAIN_DEVICE names no device
DeviceChoice choose_device(const std::optional<Device>& asked, const Environment& environment,
                           const std::function<std::string()>& why_no_gpu);

/// choose_device() on this machine: what it has to say is a line on stderr, once a process, of one rank of
/// each node.
/// @param needs_cpu why a GPU cannot do what the caller wants; "": it can
Device device_to_use(const std::optional<Device>& asked, const Environment& environment,
                     std::string_view needs_cpu = {});

struct OpenGpu {
    std::shared_ptr<kernels::Gpu> gpu;
    int number = 0;
};

/// The GPU of this number, or the rank's. @throws UsageError when there is none
OpenGpu open_gpu_of_rank(const std::optional<int>& number, const Environment& environment, int node_rank);

}  // namespace dtrain::program
