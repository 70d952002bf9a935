// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/executor.hpp>

namespace dtrain::program {

/// The batches of a step that this rank computes, among those of all ranks.
struct StepBatches {
    VirtualRanks own;
    bool are_virtual = false;
};

/// @throws UsageError if there are fewer virtual ranks than ranks
StepBatches step_batches(const Program& program, const Communicator& communicator);

}  // namespace dtrain::program
