// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include <dtrain/communicator.hpp>

namespace dtrain::native {

/// What the ranks said one step ago.
struct Agreed {
    bool stop = false;     ///< one of them wants to stop
    bool written = false;  ///< all of them have written their part of the checkpoint
};

/// Lets the ranks decide together without a wait: what each says after a step is summed while the next step
/// runs, and known to all after that.
class StepAgreement {
  public:
    explicit StepAgreement(Communicator communicator) : communicator_(std::move(communicator)) {}

    /// Once after every step, on all ranks. Collective, but it waits only for what was begun a step ago.
    Agreed after_step(bool stop, bool written);

  private:
    Communicator communicator_;
    std::array<float, 2> said_{};
    bool has_said_ = false;
    Request sum_;
};

}  // namespace dtrain::native
