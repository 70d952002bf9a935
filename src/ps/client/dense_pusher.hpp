// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "ps/client/push_messages.hpp"
#include "ps/client/step_clock.hpp"

namespace dtrain::ps {

/// Writes gradients of dense parameters to messages, or sums up those of steps that are merged.
class DensePusher {
  public:
    /// @param sizes number of floats on each server
    /// @param messages must outlive this
    DensePusher(const std::vector<std::size_t>& sizes, const StepClock& clock, PushMessages& messages);

    /// Adds gradients of elements of a server's parameters for this step.
    void push(int server, std::size_t first, std::span<const float> gradients);

    /// Writes the sums of merged steps.
    void write_merged();

  private:
    PushMessages* messages_;
    bool merges_;
    std::vector<std::vector<float>> sums_;  ///< by server; empty if steps are not merged
};

}  // namespace dtrain::ps
