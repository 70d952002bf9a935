// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <dtrain/program.hpp>

/// Functions that append operators to a Program and return the names of the variables that these make. All
/// throw ProgramError naming operator, variable, expected and given shape when an input does not fit.
namespace dtrain::layers {

/// A variable that is fed before every step. `shape` includes the batch: {64, 784}.
std::string data(Program& program, const std::string& name, const Shape& shape,
                 DataType type = DataType::float32);

struct FcOptions {
    std::string activation = {};  ///< "", "relu", "tanh" or "sigmoid"
    std::string name = {};        ///< stem of the parameters' names; "" picks fc_0, fc_1, ...
};

/// activation(x weight + bias) for x [batch, n]. Adds the parameters NAME.weight [n, size], Xavier uniform,
/// and NAME.bias [size], zero. Returns [batch, size].
std::string fc(Program& program, const std::string& x, std::int64_t size, const FcOptions& options = {});

/// Element by element; same shape.
std::string relu(Program& program, const std::string& x);
std::string tanh(Program& program, const std::string& x);
std::string sigmoid(Program& program, const std::string& x);

/// The mean of all elements, [1].
std::string mean(Program& program, const std::string& x);

struct CrossEntropy {
    std::string loss;           ///< [1]: mean over all rows; what append_backward() takes
    std::string row_loss;       ///< [batch]: -log of the label's probability
    std::string probabilities;  ///< [batch, classes]: softmax of the logits
};

/// logits [batch, classes] float32, label [batch] int64 in 0..classes-1. The executor throws when a label is
/// outside. Every row counts, padded ones too; metrics that leave rows out take `weight` below.
CrossEntropy softmax_with_cross_entropy(Program& program, const std::string& logits,
                                        const std::string& label);

/// Sum over rows of rows[i] * weight[i], both [batch] float32; [1]. With row_loss and weights 1 (real) and 0
/// (padded) it is the loss metric's numerator.
std::string weighted_sum(Program& program, const std::string& rows, const std::string& weight);

/// Sum over rows of weight[i] where the largest of scores [batch, classes] (the first one of equals) is at
/// label[i]; [1]. With weights of 1 and 0 the number of real rows that are right.
std::string correct_count(Program& program, const std::string& scores, const std::string& label,
                          const std::string& weight);

/// Fraction of rows where the largest of scores (the first one of equals) is at the label; [1]. Every row
/// counts.
std::string accuracy(Program& program, const std::string& scores, const std::string& label);

}  // namespace dtrain::layers
