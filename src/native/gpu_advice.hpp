// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/files.hpp"
#include "topology/xid.hpp"
#include "worker/gpu_inspection.hpp"
#include "worker/xid_watch.hpp"

namespace dtrain::native {

/// Reports issues of a node's GPUs while an unsupervised job runs there: what an inspection finds, and the
/// errors that the kernel logs. Training waits for neither.
class GpuAdvice {
  public:
    using Report = std::function<void(const std::string& warning)>;

    /// @param visible CUDA_VISIBLE_DEVICES
    /// @param report called from another thread
    GpuAdvice(std::optional<std::string> visible, Report report,
              const std::filesystem::path& kernel_log = topology::usual_kernel_log);
    GpuAdvice(const GpuAdvice&) = delete;
    GpuAdvice& operator=(const GpuAdvice&) = delete;
    ~GpuAdvice();

  private:
    void listen();

    Report report_;
    worker::GpuInspection inspection_;
    worker::XidWatch xid_watch_;
    std::vector<topology::Xid> xids_;
    Pipe end_;
    std::thread thread_;
};

}  // namespace dtrain::native
