// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <optional>

#include <dtrain/communicator.hpp>

#include "checkpoint/checkpoint_writer.hpp"

namespace dtrain::checkpoint {

/// Lets the ranks decide together without a wait: what each says after a step is summed while the next step
/// runs, and known to all after that.
class StepAgreement {
  public:
    explicit StepAgreement(Communicator communicator) : communicator_(std::move(communicator)) {}

    /// After a step, on all ranks. Commits the writer's checkpoint when all of them have written their parts.
    /// Collective, but it waits only for what was begun a call ago.
    /// @param stop whether this rank wants to stop
    /// @return whether one of them wants to, as far as known
    bool after_step(CheckpointWriter& writer, bool stop);

  private:
    /// What the ranks said a call ago.
    struct Agreed {
        bool stop = false;     ///< one of them wants to stop
        bool written = false;  ///< all of them have written their part of the checkpoint
    };
    Agreed exchange(bool stop, bool written);

    Communicator communicator_;
    std::array<float, 2> said_{};
    bool has_said_ = false;
    std::optional<std::filesystem::path> said_of_;  ///< the checkpoint
    Request sum_;
};

}  // namespace dtrain::checkpoint
