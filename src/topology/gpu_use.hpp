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

/// How the GPUs of a process were used for some time; nothing for what none of them told.
struct GpuUse {
    std::optional<double> utilization;  ///< percent: the mean of all of them and of all samples
    std::optional<double> watts;        ///< of all of them together: the mean of all samples
    std::optional<double> memory;       ///< bytes: the most that one of them had in use
    std::optional<double> celsius;      ///< the hottest
    friend bool operator==(const GpuUse&, const GpuUse&) = default;
};

/// Samples of the same GPUs, a list for each. Pure.
GpuUse gpu_use(const std::vector<std::vector<GpuHealth>>& samples);

/// Samples the GPUs that a program with this CUDA_VISIBLE_DEVICES is shown, again and again, beside the
/// caller: a broken one may keep whoever asks waiting for minutes.
class GpuWatch {
  public:
    explicit GpuWatch(std::optional<std::string> cuda_visible_devices,
                      std::chrono::milliseconds between = std::chrono::seconds(1),
                      std::string library = NvmlLibrary::usual_name);
    GpuWatch(const GpuWatch&) = delete;
    GpuWatch& operator=(const GpuWatch&) = delete;
    /// Gives a sample that is under way a second: a process should not end under it.
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
