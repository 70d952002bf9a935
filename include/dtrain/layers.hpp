// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/program.hpp>
#include <dtrain/size2d.hpp>
#include <dtrain/var.hpp>

/// Functions that append operators to a Program and return their output variables. A variable is a Var, or
/// the string with its name. The words are those of dtrain/nn.hpp where the meaning is the same. All throw
/// ProgramError naming operator, variable, expected and given shape if an input does not fit.
namespace dtrain::layers {

/// A variable that is fed before every step. `shape` includes the batch: {64, 784}.
Var data(Program& program, const std::string& name, const Shape& shape, DataType type = DataType::float32);

/// Options of fc().
struct FcOptions {
    std::string activation = {};  ///< "", "relu", "tanh", "sigmoid" or "softmax"
    std::string name = {};        ///< stem of the parameters' names; "" picks fc_0, fc_1, ...
};

/// activation(x weight + bias) for x [batch, n]. Adds the parameters NAME.weight [n, size], Xavier uniform,
/// and NAME.bias [size], zero, with elements of x's type. Returns [batch, size].
Var fc(Program& program, const Var& x, std::int64_t size, const FcOptions& options = {});

/// The operator of this type with the input x: one of the following functions.
Var unary(Program& program, const std::string& type, const Var& x);

/// max(x, 0), element by element; same shape.
inline Var relu(Program& program, const Var& x) {
    return unary(program, "relu", x);
}
/// The hyperbolic tangent, element by element; same shape.
inline Var tanh(Program& program, const Var& x) {
    return unary(program, "tanh", x);
}
/// 1 / (1 + exp(-x)), element by element; same shape.
inline Var sigmoid(Program& program, const Var& x) {
    return unary(program, "sigmoid", x);
}
/// x^2, element by element; same shape.
inline Var square(Program& program, const Var& x) {
    return unary(program, "square", x);
}
/// The square root, element by element; same shape. Its gradient is infinite at 0.
inline Var sqrt(Program& program, const Var& x) {
    return unary(program, "sqrt", x);
}

/// exp(x) over its sum along the last axis; same shape.
inline Var softmax(Program& program, const Var& x) {
    return unary(program, "softmax", x);
}

/// x + y + ... for one or more variables of one shape.
Var sum(Program& program, const Vars& terms);

/// x - y, element by element, for x and y of one shape.
Var subtract(Program& program, const Var& x, const Var& y);
/// x y, element by element, for x and y of one shape.
Var multiply(Program& program, const Var& x, const Var& y);
/// x / y, element by element, for x and y of one shape.
Var divide(Program& program, const Var& x, const Var& y);

/// scale x + bias, element by element.
Var scale(Program& program, const Var& x, double scale, double bias = 0);

/// Options of matmul().
struct MatmulOptions {
    bool transpose_x = false;  ///< multiplies the transpose of x
    bool transpose_y = false;  ///< multiplies the transpose of y
};

/// The product of two matrices, each optionally transposed.
Var matmul(Program& program, const Var& x, const Var& y, const MatmulOptions& options = {});

/// The elements of x, of any type, in the same order with another shape; one extent may be -1 and is
/// inferred.
Var reshape(Program& program, const Var& x, Shape shape);

/// Reshapes x [batch, ...] to [batch, product of the other extents].
Var flatten(Program& program, const Var& x);

/// Concatenates variables along an axis (negative: counted from the end); their other extents are the same.
Var concat(Program& program, const Vars& parts, std::int64_t axis);

/// Splits x along an axis (negative: counted from the end) into parts of these sizes.
Vars split(Program& program, const Var& x, const std::vector<std::int64_t>& sizes, std::int64_t axis);

/// Options of embedding().
struct EmbeddingOptions {
    /// The gradient has only the rows that the batch looks up (their numbers are in gradient_rows_name() of
    /// the gradient), and optimizers change only those rows and their state, which large tables need. Ranks
    /// exchange only those rows. Must be float32 if the program is to be data parallel.
    bool is_sparse = false;
    /// An id that is looked up as zeros and never trained, if it is not -1.
    [[deprecated("it is called padding_idx")]] std::int64_t padding = -1;
    /// An id that is looked up as zeros and never trained; negative: counted from the end, except with
    /// is_distributed, where ids are any int64 but -1.
    std::optional<std::int64_t> padding_idx = std::nullopt;
    /// Only parameter servers store the table, with a row for each id that was ever looked up. Ids are any
    /// int64, and `rows` is the maximum number of distinct ids on all servers together. Requires is_sparse,
    /// float32 and DistributeTranspiler: such a program cannot run in any other way.
    bool is_distributed = false;
    DataType type = DataType::float32;  ///< of the table
    std::string name = {};              ///< stem of names; layers with one name share a table
};

/// Rows of a table: ids of any shape with integers in 0..rows-1; the result has one more extent, `width`.
/// Adds the parameter NAME.weight [rows, width], Xavier uniform. The executor throws if an id is out of
/// range.
Var embedding(Program& program, const Var& ids, std::int64_t rows, std::int64_t width,
              const EmbeddingOptions& options = {});

/// Options of layer_norm().
struct LayerNormOptions {
    std::int64_t axis = 1;  ///< all axes from this one on are normalised together
    double epsilon = 1e-5;  ///< added to the variance
    std::string name = {};  ///< stem of the parameters' names; "" picks layer_norm_0, ...
};

/// (x - mean) / sqrt(variance + epsilon) * scale + bias with mean and variance over the axes from `axis` on:
/// Ba, Kiros and Hinton, 2016, equations 3 and 4. Adds the parameters NAME.scale, one, and NAME.bias, zero,
/// each with one element for each element that is normalised together. Same shape.
Var layer_norm(Program& program, const Var& x, const LayerNormOptions& options = {});

/// Cross-correlation of images x [batch, c, height, width] with a filter, and a bias. Adds the parameters
/// NAME.filter [channels, c, kernel_size...], Xavier uniform, and NAME.bias [channels], zero. `padding` is
/// the number of zeros around the images, less than kernel_size. Returns [batch, channels, h, w] with h =
/// (height + 2 padding - kernel_size) / stride + 1, rounded down.
/// @param name stem of the parameters' names; "" picks conv2d_0, conv2d_1, ...
Var conv2d(Program& program, const Var& x, std::int64_t channels, Size2d kernel_size, Size2d stride = 1,
           Size2d padding = 0, const std::string& name = {});

/// The maximum over each window of each channel of x [batch, c, height, width]. Positions outside the images
/// are not counted; `padding` is less than kernel_size. Returns [batch, c, h, w] with h and w as in conv2d().
/// The gradient goes to the first of equal elements.
Var max_pool2d(Program& program, const Var& x, Size2d kernel_size, Size2d stride, Size2d padding = 0);
/// The same with windows that lie side by side.
Var max_pool2d(Program& program, const Var& x, Size2d kernel_size);

/// The mean over each window of each channel, as max_pool2d().
Var avg_pool2d(Program& program, const Var& x, Size2d kernel_size, Size2d stride, Size2d padding = 0);
/// The same with windows that lie side by side.
Var avg_pool2d(Program& program, const Var& x, Size2d kernel_size);

/// Arguments of the deprecated form of conv2d().
struct Conv2dOptions {
    Shape window = {3, 3};   ///< kernel_size
    Shape stride = {1, 1};   ///< stride
    Shape padding = {0, 0};  ///< padding
    std::string name = {};   ///< name
};

/// Arguments of the deprecated form of max_pool2d() and avg_pool2d().
struct Pool2dOptions {
    Shape window = {2, 2};   ///< kernel_size
    Shape stride = {2, 2};   ///< stride
    Shape padding = {0, 0};  ///< padding
};

/// conv2d() with its arguments in a struct.
[[deprecated("pass kernel_size, stride and padding: conv2d(program, x, channels, 3)")]] Var conv2d(
    Program& program, const Var& x, std::int64_t channels, const Conv2dOptions& options = {});

/// max_pool2d() with its arguments in a struct.
[[deprecated("pass kernel_size, stride and padding: max_pool2d(program, x, 2)")]] Var max_pool2d(
    Program& program, const Var& x, const Pool2dOptions& options = {});

/// avg_pool2d() with its arguments in a struct.
[[deprecated("it is called avg_pool2d and takes kernel_size, stride and padding")]] Var average_pool2d(
    Program& program, const Var& x, const Pool2dOptions& options = {});

/// Options of dropout().
struct DropoutOptions {
    std::int64_t seed = 0;  ///< of the dropped elements
    /// Variable, int64 [1], with the index of this batch's first row in the global batch. "": programs of
    /// data_parallel() or with_virtual_ranks() determine it themselves, if the batches of a step are given in
    /// order: rank by rank, and batch by batch on each. In both cases the rows of several ranks, batches or
    /// virtual ranks drop what one batch of all rows would drop.
    Var first_row = {};
};

/// x with elements set to zero with this probability and the others divided by 1 - probability; programs of
/// for_test() leave x unchanged. The dropped elements depend only on the seed, the index of the layer among
/// the program's dropouts, the number of updates so far (`dropout.step`, in the State) and the element's
/// index in the global batch. Same shape.
Var dropout(Program& program, const Var& x, double probability, const DropoutOptions& options = {});

/// The mean of all elements, [1].
Var mean(Program& program, const Var& x);

/// The sum of all elements, [1].
Var reduce_sum(Program& program, const Var& x);

/// (x - y)^2, element by element.
Var square_error(Program& program, const Var& x, const Var& y);

/// The mean of (x - y)^2 over all elements, [1].
Var mse_loss(Program& program, const Var& x, const Var& y);

/// mse_loss().
[[deprecated("it is called mse_loss")]] Var mean_square_error(Program& program, const Var& x, const Var& y);

/// -label log p - (1 - label) log(1 - p) with p = sigmoid(logits), element by element; labels are real
/// numbers in 0..1 of the logits' shape. Computed as max(x, 0) - x label + log(1 + exp(-|x|)), which does not
/// overflow for any logit.
Var bce_with_logits(Program& program, const Var& logits, const Var& label);

/// -log of the label's probability: for probabilities [batch, classes] (of softmax()) and label [batch] or
/// [batch, 1] of integers, [batch]. softmax_with_cross_entropy() has better-behaved gradients. The executor
/// throws if a label is outside 0..classes-1.
Var cross_entropy(Program& program, const Var& probabilities, const Var& label);

/// Outputs of softmax_with_cross_entropy().
struct CrossEntropy {
    Var loss = {};           ///< [1]: mean over all rows; the argument of append_backward()
    Var row_loss = {};       ///< [batch]: -log of the label's probability
    Var probabilities = {};  ///< [batch, classes]: softmax of the logits
};

/// logits [batch, classes], label [batch] or [batch, 1] of integers in 0..classes-1. The executor throws if a
/// label is out of range. Every row counts, including padding; metrics that exclude rows take `weight` below.
CrossEntropy softmax_with_cross_entropy(Program& program, const Var& logits, const Var& label);

/// Sum over rows of rows[i] * weight[i], both [batch]; [1]. With row_loss and weights 1 (real) and 0
/// (padding) it is the numerator of the loss metric.
Var weighted_sum(Program& program, const Var& rows, const Var& weight);

/// Sum over rows of weight[i] where the largest score (the first one of equals) is at label[i]: scores
/// [batch, classes], label [batch] or [batch, 1]; [1]. With weights 1 and 0 it is the number of correct real
/// rows.
Var correct_count(Program& program, const Var& scores, const Var& label, const Var& weight);

/// Fraction of rows whose largest score (the first one of equals) is at the label, [batch] or [batch, 1];
/// [1]. Every row counts.
Var accuracy(Program& program, const Var& scores, const Var& label);

}  // namespace dtrain::layers
