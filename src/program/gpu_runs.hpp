// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include <dtrain/communicator.hpp>

#include "comm/captured_operations.hpp"
#include "kernels/gpu.hpp"

namespace dtrain::program {

/// Graphs of a GPU with sums over ranks in them. Whoever waits for the GPU waits for their runs first,
/// with the communicator's deadline: CUDA itself would wait for ever for a rank that does not come.
class GpuRuns {
  public:
    /// @param communicator over NCCL
    GpuRuns(std::shared_ptr<kernels::Gpu> gpu, Communicator communicator);

    std::unique_ptr<kernels::Kernel> captured(const std::function<void()>& give);

    /// After each part of a step: waits for runs before the last part, which what is uploaded for this one
    /// has waited for.
    void end_part();

  private:
    std::shared_ptr<kernels::Gpu> gpu_;
    Communicator communicator_;
    comm::CapturedOperations* operations_;
    std::shared_ptr<void> poll_;
    std::uint64_t before_last_part_ = 0;  // the last run of that time
    std::uint64_t last_part_ = 0;
};

/// Why the ranks' sums are not a part of graphs, when that is so on any of them; the same on all ranks.
/// "" when they are. Collective over `communicator`, which is over NCCL.
std::string why_sums_are_not_captured(const Communicator& communicator);

}  // namespace dtrain::program
