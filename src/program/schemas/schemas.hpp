// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "program/ir/operators.hpp"

/// The schemas, grouped by purpose.
namespace dtrain::program {

using Types = std::vector<TensorType>;

/// Type of a loss or a metric: one number of this type.
inline TensorType one(DataType type) {
    return {{1}, type};
}

/// Checks that x is real; the output has the type of x.
Types same_as_x(const Checked& op);

std::vector<Schema> adjustment_schemas();     ///< clipping and regularisation of gradients
std::vector<Schema> arithmetic_schemas();     ///< element by element, and products of matrices
std::vector<Schema> communication_schemas();  ///< what passes for several ranks insert
std::vector<Schema> embedding_schemas();      ///< lookups in tables and the operators of their gradients
std::vector<Schema> layer_schemas();          ///< fully connected layers, functions of one variable
std::vector<Schema> loss_schemas();           ///< losses and their gradients
std::vector<Schema> normalisation_schemas();  ///< layer normalisation, dropout
std::vector<Schema> image_schemas();          ///< convolution and pooling
std::vector<Schema> reduction_schemas();      ///< sums and means, metrics, and the gradients of sums
std::vector<Schema> schedule_schemas();       ///< learning rates
std::vector<Schema> server_schemas();         ///< what trainers exchange with parameter servers
std::vector<Schema> shape_schemas();          ///< the same values in another shape or order
std::vector<Schema> training_schemas();  ///< the loss's own gradient, loss scaling, updates of parameters

}  // namespace dtrain::program
