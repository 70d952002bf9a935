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

/// One sentence per issue of the GPUs that a program with this CUDA_VISIBLE_DEVICES sees; of all GPUs if the
/// machine does not tell which ones these are. Pure.
std::vector<std::string> gpu_warnings(const std::vector<topology::GpuHealth>& gpus,
                                      const topology::Machine& machine,
                                      const std::optional<std::string>& cuda_visible_devices);

/// Inspects the GPUs of a program in the background while it starts: a broken GPU may take minutes to answer.
class GpuInspection {
  public:
    explicit GpuInspection(std::optional<std::string> cuda_visible_devices);
    GpuInspection(const GpuInspection&) = delete;
    GpuInspection& operator=(const GpuInspection&) = delete;
    /// Gives a running inspection one second to finish, so that the process does not exit in the middle of
    /// it.
    ~GpuInspection();

    /// Readable when take() has something to do; -1 once the inspection is finished.
    int fd() const { return answers_.get(); }

    /// The warnings; complete when the inspection is finished.
    std::vector<std::string> take();

  private:
    FileDescriptor answers_;
    std::string so_far_;
};

}  // namespace dtrain::worker
