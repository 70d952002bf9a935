// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <optional>

#include <dtrain/communicator.hpp>

#include "checkpoint/checkpoint_writer.hpp"

namespace dtrain::checkpoint {

/// What a rank wants after a step, or some of them.
struct StepWishes {
    bool stop = false;
    bool checkpoint = false;
};

/// Lets the ranks decide together without a wait: what each says after a step is summed while the next step
/// runs, and known to all after that.
class StepAgreement {
  public:
    explicit StepAgreement(Communicator communicator) : communicator_(std::move(communicator)) {}

    /// After a step, on all ranks. Commits the writer's checkpoint when all of them have written their parts.
    /// Collective, but it waits only for what was begun a call ago.
    /// @param own this rank's wishes
    /// @return what some rank wanted a call ago; a checkpoint that was begun since then is not wanted again
    StepWishes after_step(CheckpointWriter& writer, const StepWishes& own = {});

  private:
    /// What the ranks said a call ago.
    struct Agreed {
        StepWishes wishes;
        bool written = false;  ///< all of them have written their part of the checkpoint
    };
    Agreed exchange(const StepWishes& own, bool written);

    Communicator communicator_;
    std::array<float, 3> said_{};
    bool has_said_ = false;
    std::optional<std::filesystem::path> said_of_;  ///< the checkpoint
    Request sum_;
};

}  // namespace dtrain::checkpoint
