// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <dtrain/topology.hpp>

#include "base/files.hpp"
#include "topology/gpu_health.hpp"

namespace dtrain::worker {

/// A sentence for each issue of the GPUs that a program with this CUDA_VISIBLE_DEVICES is shown; of all
/// where the machine does not tell which these are. Pure.
std::vector<std::string> gpu_warnings(const std::vector<topology::GpuHealth>& gpus,
                                      const topology::Machine& machine,
                                      const std::optional<std::string>& cuda_visible_devices);

/// Looks at the GPUs of a program while that starts. Nobody waits for the inspection, as a broken GPU may
/// take minutes to answer.
class GpuInspection {
  public:
    explicit GpuInspection(std::optional<std::string> cuda_visible_devices);
    GpuInspection(const GpuInspection&) = delete;
    GpuInspection& operator=(const GpuInspection&) = delete;
    /// Gives an inspection that is under way a second: a process should not end under it.
    ~GpuInspection();

    /// Readable when take() has something to do; -1 when the inspection is over.
    int fd() const { return answers_.get(); }

    /// The warnings, at the end of the inspection.
    std::vector<std::string> take();

  private:
    FileDescriptor answers_;
    std::string so_far_;
};

}  // namespace dtrain::worker
