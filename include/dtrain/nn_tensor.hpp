// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <dtrain/error.hpp>
#include <dtrain/program.hpp>
#include <dtrain/tensor.hpp>

namespace dtrain::eager {
struct Leaf;
struct Traced;
}  // namespace dtrain::eager

/// Networks that are computed line by line: docs/layers.md. What is here is used from one thread, the one
/// that may call MPI. On a GPU (dtrain/nn_device.hpp) operators return before they are computed: an Error of
/// the data, as a label outside the classes, is thrown by what reads values next.
namespace dtrain::nn {

/// A Tensor, Parameter or layer that has nothing: it was moved from, or never given a value.
class EmptyError : public UsageError {
  public:
    using UsageError::UsageError;
};

/// Gradients are of one number, and this is not one.
class NotScalarError : public UsageError {
  public:
    NotScalarError(const std::string& message, Shape shape) : UsageError(message), shape_(std::move(shape)) {}

    const Shape& shape() const { return shape_; }

  private:
    Shape shape_;
};

/// There is no gradient: the loss depends on no parameter, or nothing was made for an update.
class NoGradientError : public UsageError {
  public:
    using UsageError::UsageError;
};

/// A backward() before has let the graph go.
class SpentGraphError : public UsageError {
  public:
    using UsageError::UsageError;
};

/// A parameter was changed between the forward pass and its backward().
class ChangedParameterError : public UsageError {
  public:
    ChangedParameterError(const std::string& message, std::string parameter)
        : UsageError(message), parameter_(std::move(parameter)) {}

    const std::string& parameter() const { return parameter_; }

  private:
    std::string parameter_;
};

/// Numbers in C order, and how they came to be. A value: copies share the numbers, which never change, but
/// for those of parameters, which an optimizer's step changes. Its operators run at once. Their memory is
/// used again when the last copy goes.
class Tensor {
  public:
    /// Empty: anything but assigning to it throws EmptyError.
    Tensor() = default;

    /// A copy of the values. @throws UsageError when there are others than the shape says
    template <class Element>
    static Tensor of(std::span<const Element> values, const Shape& shape) {
        return copied(std::as_bytes(values), values.size(), shape, data_type_of<Element>);
    }
    template <class Element>
    static Tensor of(const std::vector<Element>& values, const Shape& shape) {
        return of(std::span<const Element>(values), shape);
    }

    /// One value in all places.
    static Tensor full(const Shape& shape, double value, DataType type = DataType::float32);

    const Shape& shape() const;
    DataType type() const;

    /// What numpy() is in Paddle. Good as long as a copy of this tensor lives. On a GPU it waits for that,
    /// and copies them the first time.
    /// @throws Error when the elements have another type, or of data that a GPU was given before
    template <class Element = float>
    std::span<const Element> values() const {
        return view().as<Element>();
    }

    /// The value of a tensor of one element. @throws NotScalarError when it has others
    template <class Element = float>
    Element item() const {
        check_is_scalar("item()");
        return values<Element>().front();
    }

    /// Adds the gradients of this number, [1], to those of all parameters that it depends on; where a
    /// DataParallel watches over them they are averages over the ranks then, and the call is collective. Lets
    /// the graph go: what was computed on the way cannot be differentiated again.
    /// @throws NotScalarError; NoGradientError when it depends on no parameter; SpentGraphError;
    /// ChangedParameterError; ProgramError when an operator on the way has no gradient
    void backward() const;

    /// The same numbers as data: no gradient goes through them.
    Tensor detach() const;

    /// For this library.
    explicit Tensor(eager::Traced traced);
    const eager::Traced& traced() const;  ///< @throws EmptyError

  private:
    static Tensor copied(std::span<const std::byte> bytes, std::size_t count, const Shape& shape,
                         DataType type);
    TensorView view() const;
    void check_is_scalar(const char* caller) const;

    std::shared_ptr<const eager::Traced> traced_;
};

/// What is trained. A value: copies are the same parameter.
class Parameter {
  public:
    /// Empty: anything but assigning to it throws EmptyError.
    Parameter() = default;

    /// Of this name, which is unique in a network; its values follow from seed, name and initializer as those
    /// of a State. @throws ProgramError when the shape cannot be
    Parameter(const std::string& name, const Shape& shape, const Initializer& initializer = {},
              DataType type = DataType::float32);

    const std::string& name() const;
    const Shape& shape() const;
    DataType type() const;

    /// Good as long as a copy of this parameter lives; what optimizers change is seen in them. On a GPU the
    /// call waits for that, and copies what has changed: ask anew after a step.
    /// @throws Error when the elements have another type, or of data that a GPU was given before
    template <class Element = float>
    std::span<const Element> values() const {
        return view().as<Element>();
    }

    /// Sets all of them. What was computed from those before cannot be differentiated any more: its
    /// backward() throws ChangedParameterError. @throws UsageError when they are of another type or number
    template <class Element>
    void set_values(std::span<const Element> values) const {
        set(std::as_bytes(values), values.size(), data_type_of<Element>);
    }
    template <class Element>
    void set_values(const std::vector<Element>& values) const {
        set_values(std::span<const Element>(values));
    }

    /// Whether backward() has reached it since it was cleared.
    bool has_gradient() const;

    /// It may be written to. On a GPU the call waits for that and copies it, and what is in it is copied back
    /// before it is used next: ask anew before writing again.
    /// @throws NoGradientError when there is none; Error when the elements have another type, or of data that
    /// a GPU was given before
    template <class Element = float>
    std::span<Element> gradient() const {
        return gradient_view().as<Element>();
    }
    void clear_gradient() const;

    /// For operators; it sees every update.
    operator Tensor() const;  // NOLINT: a parameter is a tensor

    /// For this library. @throws EmptyError
    const std::shared_ptr<eager::Leaf>& leaf() const;

  private:
    TensorView view() const;
    TensorView gradient_view() const;
    void set(std::span<const std::byte> bytes, std::size_t count, DataType type) const;

    std::shared_ptr<eager::Leaf> leaf_;
};

/// While one lives, operators note nothing for gradients: their results are data. paddle.no_grad().
class NoGrad {
  public:
    NoGrad();
    NoGrad(const NoGrad&) = delete;
    NoGrad& operator=(const NoGrad&) = delete;
    ~NoGrad();
};

/// For what is made from here on: initial parameters, dropout and randn(); names and numbers begin anew. At
/// first the seed is 1. Ranks that train together have the same one. paddle.seed().
void seed(std::uint64_t seed);

/// Standard normal numbers, float32 or float64. They follow from the seed, from how many such tensors there
/// were before and from `stream`: with a rank's number each rank has its own.
Tensor randn(const Shape& shape, std::uint64_t stream = 0, DataType type = DataType::float32);

/// What follows runs the kernels of the Program's operators of the same name (dtrain/layers.hpp), and throws
/// ProgramError naming operator, expected and given shape when an input does not fit.
Tensor relu(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor softmax(const Tensor& x);  ///< along the last axis
Tensor square(const Tensor& x);
Tensor sqrt(const Tensor& x);  ///< its gradient is infinite at 0

/// Element by element, for two tensors of one shape.
Tensor operator+(const Tensor& x, const Tensor& y);
Tensor operator-(const Tensor& x, const Tensor& y);
Tensor operator*(const Tensor& x, const Tensor& y);
Tensor operator/(const Tensor& x, const Tensor& y);

/// factor x + bias, element by element.
Tensor scale(const Tensor& x, double factor, double bias = 0);

/// Of two matrices, each transposed before it where that is said.
Tensor matmul(const Tensor& x, const Tensor& y, bool transpose_x = false, bool transpose_y = false);
Tensor mean(const Tensor& x);  ///< of all elements, [1]
Tensor sum(const Tensor& x);   ///< of all elements, [1]

/// One extent may be -1 and is what is left.
Tensor reshape(const Tensor& x, Shape shape);

/// The axes from `start` to `stop` (negative: counted from the end) become one.
Tensor flatten(const Tensor& x, std::int64_t start = 1, std::int64_t stop = -1);

/// Tensors side by side along an axis (negative: counted from the end); their other extents are the same.
Tensor concat(const std::vector<Tensor>& parts, std::int64_t axis = 0);

/// x cut along an axis (negative: counted from the end) into parts of these sizes; one may be -1 and is what
/// is left.
std::vector<Tensor> split(const Tensor& x, std::vector<std::int64_t> sizes, std::int64_t axis = 0);

/// The same numbers as another type, data: ids that came as float32 become int64. What is behind the point is
/// cut off. @throws UsageError when x depends on a parameter, for no gradient goes through it, or an element
/// is no number of that type
Tensor cast(const Tensor& x, DataType type);

/// x weight + bias: x [batch, n], weight [n, size], bias [size].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

/// Rows of the table weight [rows, width]: ids of any shape, integers in 0..rows-1; the result has one more
/// extent, the width. The gradient has the table's size. @param padding_idx an id that is looked up as zeros
/// and never trained. @throws Error when an id is outside
Tensor embedding(const Tensor& ids, const Tensor& weight,
                 std::optional<std::int64_t> padding_idx = std::nullopt);

/// (x - mean) / sqrt(variance + epsilon) * weight + bias with mean and variance over x's last axes, which
/// have the normalized shape; there is one before them at least. weight and bias have an element for each
/// that is normalised together: [element_count(normalized_shape)].
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                  double epsilon = 1e-5);

struct CrossEntropyOptions {
    bool use_softmax = true;  ///< false: the logits are probabilities already
};

/// The mean over all rows of -log softmax(logits)[label]: logits [batch, classes], label [batch] or [batch,
/// 1] of integers. [1]. @throws Error when a label is outside the classes
Tensor cross_entropy(const Tensor& logits, const Tensor& label, const CrossEntropyOptions& options = {});

/// The mean over all elements of -label log p - (1 - label) log(1 - p) with p = sigmoid(logits): labels are
/// real numbers in 0..1 of the logits' shape. [1]. No logit overflows it.
Tensor bce_with_logits(const Tensor& logits, const Tensor& label);

/// The mean of (x - y)^2 over all elements, [1].
Tensor mse_loss(const Tensor& x, const Tensor& y);

/// The part of the rows where the largest of scores [batch, classes] (the first one of equals) is at the
/// label, [batch] or [batch, 1]. [1], without a gradient. paddle.metric.accuracy().
Tensor accuracy(const Tensor& scores, const Tensor& label);

}  // namespace dtrain::nn
