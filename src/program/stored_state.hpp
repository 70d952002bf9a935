// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dtrain/checkpoint.hpp>
#include <dtrain/executor.hpp>

namespace dtrain::program {

/// Copies a tensor.
CheckpointTensor stored(const TensorView& view);

/// Copies all tensors into the checkpoint.
void store(const State& state, Checkpoint& checkpoint);

}  // namespace dtrain::program
