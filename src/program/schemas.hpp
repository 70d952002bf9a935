// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "program/operators.hpp"

/// The schemas by what their operators are for.
namespace dtrain::program {

using Types = std::vector<TensorType>;

/// What a loss, a metric or the gradient of a loss by itself is.
inline const TensorType one_float{{1}, DataType::float32};

/// Checks that x is float32; the output is as x.
Types same_as_x(const Checked& op);

std::vector<Schema> layer_schemas();     ///< fully connected layers, activations and their gradients
std::vector<Schema> loss_schemas();      ///< losses, metrics and their gradients
std::vector<Schema> training_schemas();  ///< sums of gradients, their all-reduce, updates of parameters

}  // namespace dtrain::program
