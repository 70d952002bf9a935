// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <dtrain/communicator.hpp>

#include "comm/api/captured_operations.hpp"
#include "kernels/gpu.hpp"

namespace dtrain::program {

/// Captured graphs of a GPU that include reductions over ranks. Every wait for the GPU first waits for their
/// runs, with the communicator's deadline: CUDA itself would wait for ever for a rank that does not arrive.
class GpuRuns {
  public:
    /// @param communicator over NCCL
    GpuRuns(std::shared_ptr<kernels::Gpu> gpu, Communicator communicator);

    std::unique_ptr<kernels::Kernel> captured(const std::function<void()>& give);

    /// Call it after each part of a step: waits for runs before the last part, for which the uploads of this
    /// one have waited already.
    void end_part();

  private:
    std::shared_ptr<kernels::Gpu> gpu_;
    Communicator communicator_;
    comm::CapturedOperations* operations_;
    std::shared_ptr<void> poll_;
    std::uint64_t before_last_part_ = 0;  // the last run at that time
    std::uint64_t last_part_ = 0;
};

/// Why reductions over ranks are not part of graphs, if that is so on any rank; the same on all ranks. "" if
/// they are. Collective over `communicator`, which is over NCCL.
std::string why_sums_are_not_captured(const Communicator& communicator);

}  // namespace dtrain::program
