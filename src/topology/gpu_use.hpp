// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "topology/gpu_health.hpp"

namespace dtrain::topology {

/// The usage of a process' GPUs during some time; nothing for values that none of them reported.
struct GpuUse {
    std::optional<double> utilization;  ///< percent: mean over all GPUs and samples
    std::optional<double> watts;        ///< sum over all GPUs: mean over all samples
    std::optional<double> memory;       ///< bytes: maximum of any GPU
    std::optional<double> celsius;      ///< of the hottest GPU
    friend bool operator==(const GpuUse&, const GpuUse&) = default;
};

/// The usage from samples of the same GPUs, one list per sample. Pure.
GpuUse gpu_use(const std::vector<std::vector<GpuHealth>>& samples);

/// Periodically samples the GPUs that are visible to a program with this CUDA_VISIBLE_DEVICES, in the
/// background, because a broken GPU may block its caller for minutes.
class GpuWatch {
  public:
    explicit GpuWatch(std::optional<std::string> cuda_visible_devices,
                      std::chrono::milliseconds between = std::chrono::seconds(1),
                      std::string library = NvmlLibrary::usual_name);
    GpuWatch(const GpuWatch&) = delete;
    GpuWatch& operator=(const GpuWatch&) = delete;
    /// Waits at most one second for a sample in progress, since the process should not end during one.
    ~GpuWatch();

    /// Since the watch began.
    GpuUse use() const;
    /// Since the last call.
    GpuUse use_since_last();

  private:
    struct Shared;
    std::shared_ptr<Shared> shared_;
};

}  // namespace dtrain::topology
