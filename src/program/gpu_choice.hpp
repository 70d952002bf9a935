// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include <dtrain/device.hpp>
#include <dtrain/environment.hpp>

#include "kernels/gpu.hpp"

namespace dtrain::program {

/// What was asked for, or DTRAIN_DEVICE says, or the CPU. Pure. @throws UsageError when it says neither
Device device_to_use(const std::optional<Device>& asked, const Environment& environment);

struct OpenGpu {
    std::shared_ptr<kernels::Gpu> gpu;
    int number = 0;
};

/// The GPU of this number, or the rank's. @throws UsageError when there is none
OpenGpu open_gpu_of_rank(const std::optional<int>& number, const Environment& environment, int node_rank);

}  // namespace dtrain::program
