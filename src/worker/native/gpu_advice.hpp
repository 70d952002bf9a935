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

/// Tells what ails the GPUs of a node while a job runs there that nobody supervises: what an inspection of
/// them finds, and the errors that the kernel logs. Training waits for neither.
class GpuAdvice {
  public:
    using Report = std::function<void(const std::string& warning)>;

    /// @param visible CUDA_VISIBLE_DEVICES @param tell called by another thread
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
