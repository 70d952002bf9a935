// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <optional>

#include <dtrain/communicator.hpp>

#include "checkpoint/checkpoint_writer.hpp"

namespace dtrain::checkpoint {

/// What one rank, or any rank, requests after a step.
struct StepWishes {
    bool stop = false;
    bool checkpoint = false;
};

/// Lets the ranks agree without waiting: their requests after a step are summed while the next step runs, and
/// are known to all after it.
class StepAgreement {
  public:
    explicit StepAgreement(Communicator communicator) : communicator_(std::move(communicator)) {}

    /// Call after each step on all ranks. Commits the writer's checkpoint once all ranks have written their
    /// parts. Collective, but waits only for communication started by the previous call.
    /// @param own this rank's requests
    /// @return what any rank requested in the previous call; a request for a checkpoint is dropped if one was
    /// started since then
    StepWishes after_step(CheckpointWriter& writer, const StepWishes& own = {});

  private:
    /// What the ranks reported in the previous call.
    struct Agreed {
        StepWishes wishes;
        bool written = false;  ///< all ranks have written their parts of the checkpoint
    };
    Agreed exchange(const StepWishes& own, bool written);

    Communicator communicator_;
    std::array<float, 3> said_{};
    bool has_said_ = false;
    std::optional<std::filesystem::path> said_of_;  ///< the checkpoint that the report is about
    Request sum_;
};

}  // namespace dtrain::checkpoint
