// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include <dtrain/checkpoint.hpp>
#include <dtrain/tensor.hpp>

namespace dtrain::program {

/// Copies a tensor.
CheckpointTensor stored(const TensorView& view);

/// A tensor of a checkpoint that has exactly this name, shape and element type.
/// @param source start of the messages: a file, "the checkpoint"
/// @throws UsageError naming both if there is none, or it differs
const CheckpointTensor& stored_for(const std::string& source,
                                   const std::map<std::string, CheckpointTensor>& tensors,
                                   const std::string& name, const TensorView& view);

/// Copies the values of stored_for() into the tensor.
void restore(const CheckpointTensor& stored, const TensorView& view);

}  // namespace dtrain::program
