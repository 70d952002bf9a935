// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <dtrain/program.hpp>

/// Functions that append operators to a Program and return the names of their output variables. All throw
/// ProgramError naming operator, variable, expected and given shape if an input does not fit.
namespace dtrain::layers {

/// A variable that is fed before every step. `shape` includes the batch: {64, 784}.
std::string data(Program& program, const std::string& name, const Shape& shape,
                 DataType type = DataType::float32);

struct FcOptions {
    std::string activation = {};  ///< "", "relu", "tanh", "sigmoid" or "softmax"
    std::string name = {};        ///< stem of the parameters' names; "" picks fc_0, fc_1, ...
};

/// activation(x weight + bias) for x [batch, n]. Adds the parameters NAME.weight [n, size], Xavier uniform,
/// and NAME.bias [size], zero, with elements of x's type. Returns [batch, size].
std::string fc(Program& program, const std::string& x, std::int64_t size, const FcOptions& options = {});

/// The operator of this type with the input x: one of the following functions.
std::string unary(Program& program, const std::string& type, const std::string& x);

/// Element by element; same shape.
inline std::string relu(Program& program, const std::string& x) {
    return unary(program, "relu", x);
}
inline std::string tanh(Program& program, const std::string& x) {
    return unary(program, "tanh", x);
}
inline std::string sigmoid(Program& program, const std::string& x) {
    return unary(program, "sigmoid", x);
}
inline std::string square(Program& program, const std::string& x) {
    return unary(program, "square", x);
}

/// Its gradient is infinite at 0.
inline std::string sqrt(Program& program, const std::string& x) {
    return unary(program, "sqrt", x);
}

/// exp(x) over its sum along the last axis; same shape.
inline std::string softmax(Program& program, const std::string& x) {
    return unary(program, "softmax", x);
}

/// x + y + ... for one or more variables of one shape.
std::string sum(Program& program, const std::vector<std::string>& terms);

/// Element by element, for x and y of one shape.
std::string subtract(Program& program, const std::string& x, const std::string& y);
std::string multiply(Program& program, const std::string& x, const std::string& y);
std::string divide(Program& program, const std::string& x, const std::string& y);

/// scale x + bias, element by element.
std::string scale(Program& program, const std::string& x, double scale, double bias = 0);

struct MatmulOptions {
    bool transpose_x = false;
    bool transpose_y = false;
};

/// The product of two matrices, each optionally transposed.
std::string matmul(Program& program, const std::string& x, const std::string& y,
                   const MatmulOptions& options = {});

/// The elements of x, of any type, in the same order with another shape; one extent may be -1 and is
/// inferred.
std::string reshape(Program& program, const std::string& x, Shape shape);

/// Reshapes x [batch, ...] to [batch, product of the other extents].
std::string flatten(Program& program, const std::string& x);

/// Concatenates variables along an axis (negative: counted from the end); their other extents are the same.
std::string concat(Program& program, const std::vector<std::string>& parts, std::int64_t axis);

/// Splits x along an axis (negative: counted from the end) into parts of these sizes.
std::vector<std::string> split(Program& program, const std::string& x, const std::vector<std::int64_t>& sizes,
                               std::int64_t axis);

struct EmbeddingOptions {
    /// The gradient has only the rows that the batch looks up (their numbers are in gradient_rows_name() of
    /// the gradient), and optimizers change only those rows and their state, which large tables need. Ranks
    /// exchange only those rows. Must be float32 if the program is to be data parallel.
    bool is_sparse = false;
    std::int64_t padding = -1;  ///< an id that is looked up as zeros and never trained; -1: none
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
std::string embedding(Program& program, const std::string& ids, std::int64_t rows, std::int64_t width,
                      const EmbeddingOptions& options = {});

struct LayerNormOptions {
    std::int64_t axis = 1;  ///< all axes from this one on are normalised together
    double epsilon = 1e-5;
    std::string name = {};  ///< stem of the parameters' names; "" picks layer_norm_0, ...
};

/// (x - mean) / sqrt(variance + epsilon) * scale + bias with mean and variance over the axes from `axis` on:
/// Ba, Kiros and Hinton, 2016, equations 3 and 4. Adds the parameters NAME.scale, one, and NAME.bias, zero,
/// each with one element for each element that is normalised together. Same shape.
std::string layer_norm(Program& program, const std::string& x, const LayerNormOptions& options = {});

struct Conv2dOptions {
    Shape window = {3, 3};  ///< height and width of the filter
    Shape stride = {1, 1};
    Shape padding = {0, 0};  ///< zeros around the images, less than the window
    std::string name = {};   ///< stem of the parameters' names; "" picks conv2d_0, ...
};

/// Cross-correlation of images x [batch, c, height, width] with a filter, and a bias. Adds the parameters
/// NAME.filter [channels, c, window...], Xavier uniform, and NAME.bias [channels], zero. Returns
/// [batch, channels, h, w] with h = (height + 2 padding - window) / stride + 1, rounded down.
std::string conv2d(Program& program, const std::string& x, std::int64_t channels,
                   const Conv2dOptions& options = {});

struct Pool2dOptions {
    Shape window = {2, 2};
    Shape stride = {2, 2};
    Shape padding = {0, 0};  ///< positions outside the images, which are not counted; less than the window
};

/// The maximum, or the mean, over each window of each channel of x [batch, c, height, width]. Returns [batch,
/// c, h, w] with h and w as in conv2d(). The gradient of a maximum goes to the first of equal elements.
std::string max_pool2d(Program& program, const std::string& x, const Pool2dOptions& options = {});
std::string average_pool2d(Program& program, const std::string& x, const Pool2dOptions& options = {});

struct DropoutOptions {
    std::int64_t seed = 0;
    /// Variable, int64 [1], with the index of this batch's first row in the global batch. "": programs of
    /// data_parallel() or with_virtual_ranks() determine it themselves, if the batches of a step are given in
    /// order: rank by rank, and batch by batch on each. In both cases the rows of several ranks, batches or
    /// virtual ranks drop what one batch of all rows would drop.
    std::string first_row = {};
};

/// x with elements set to zero with this probability and the others divided by 1 - probability; programs of
/// for_test() leave x unchanged. The dropped elements depend only on the seed, the index of the layer among
/// the program's dropouts, the number of updates so far (`dropout.step`, in the State) and the element's
/// index in the global batch. Same shape.
std::string dropout(Program& program, const std::string& x, double probability,
                    const DropoutOptions& options = {});

/// The mean of all elements, [1].
std::string mean(Program& program, const std::string& x);

/// The sum of all elements, [1].
std::string reduce_sum(Program& program, const std::string& x);

/// (x - y)^2, element by element.
std::string square_error(Program& program, const std::string& x, const std::string& y);

/// The mean of (x - y)^2 over all elements, [1].
std::string mean_square_error(Program& program, const std::string& x, const std::string& y);

/// -label log p - (1 - label) log(1 - p) with p = sigmoid(logits), element by element; labels are real
/// numbers in 0..1 of the logits' shape. Computed as max(x, 0) - x label + log(1 + exp(-|x|)), which does not
/// overflow for any logit.
std::string bce_with_logits(Program& program, const std::string& logits, const std::string& label);

/// -log of the label's probability: for probabilities [batch, classes] (of softmax()) and label [batch] or
/// [batch, 1] of integers, [batch]. softmax_with_cross_entropy() has better-behaved gradients. The executor
/// throws if a label is outside 0..classes-1.
std::string cross_entropy(Program& program, const std::string& probabilities, const std::string& label);

struct CrossEntropy {
    std::string loss = {};           ///< [1]: mean over all rows; the argument of append_backward()
    std::string row_loss = {};       ///< [batch]: -log of the label's probability
    std::string probabilities = {};  ///< [batch, classes]: softmax of the logits
};

/// logits [batch, classes], label [batch] or [batch, 1] of integers in 0..classes-1. The executor throws if a
/// label is out of range. Every row counts, including padding; metrics that exclude rows take `weight` below.
CrossEntropy softmax_with_cross_entropy(Program& program, const std::string& logits,
                                        const std::string& label);

/// Sum over rows of rows[i] * weight[i], both [batch]; [1]. With row_loss and weights 1 (real) and 0
/// (padding) it is the numerator of the loss metric.
std::string weighted_sum(Program& program, const std::string& rows, const std::string& weight);

/// Sum over rows of weight[i] where the largest score (the first one of equals) is at label[i]: scores
/// [batch, classes], label [batch] or [batch, 1]; [1]. With weights 1 and 0 it is the number of correct real
/// rows.
std::string correct_count(Program& program, const std::string& scores, const std::string& label,
                          const std::string& weight);

/// Fraction of rows whose largest score (the first one of equals) is at the label, [batch] or [batch, 1];
/// [1]. Every row counts.
std::string accuracy(Program& program, const std::string& scores, const std::string& label);

}  // namespace dtrain::layers
