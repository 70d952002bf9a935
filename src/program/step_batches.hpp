// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/executor.hpp>

namespace dtrain::program {

/// The batches of a step that a rank makes, of those that all ranks make together.
struct StepBatches {
    VirtualRanks own;
    bool are_virtual = false;
};

/// @throws UsageError when there are fewer virtual ranks than ranks
StepBatches step_batches(const Program& program, const Communicator& communicator);

}  // namespace dtrain::program
