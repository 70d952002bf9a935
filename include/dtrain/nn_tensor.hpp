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

namespace dtrain::detail {
struct Leaf;
struct Traced;
}  // namespace dtrain::detail

/// The eager API (networks computed line by line): docs/layers.md. Use it from one thread, the one that may
/// call MPI. On a GPU (dtrain/nn_device.hpp) operators return before they are computed: an Error in the data,
/// such as a label outside the classes, is thrown by the next call that reads values.
namespace dtrain::nn {

/// A Tensor, Parameter or layer is empty: it was moved from, or never given a value.
class EmptyError : public UsageError {
  public:
    /// Constructed from the message.
    using UsageError::UsageError;
};

/// backward() needs a scalar, and this tensor is not one.
class NotScalarError : public UsageError {
  public:
    /// @param shape of the tensor
    NotScalarError(const std::string& message, Shape shape) : UsageError(message), shape_(std::move(shape)) {}

    /// Shape of the tensor.
    const Shape& shape() const { return shape_; }

  private:
    Shape shape_;
};

/// There is no gradient: the loss depends on no parameter, or nothing has a gradient for an update.
class NoGradientError : public UsageError {
  public:
    /// Constructed from the message.
    using UsageError::UsageError;
};

/// The graph was already released by an earlier backward().
class SpentGraphError : public UsageError {
  public:
    /// Constructed from the message.
    using UsageError::UsageError;
};

/// A parameter was changed between the forward pass and its backward().
class ChangedParameterError : public UsageError {
  public:
    /// @param parameter its name
    ChangedParameterError(const std::string& message, std::string parameter)
        : UsageError(message), parameter_(std::move(parameter)) {}

    /// Name of the parameter.
    const std::string& parameter() const { return parameter_; }

  private:
    std::string parameter_;
};

/// Values in C order, and how they were computed. A value type: copies share the values, which are immutable,
/// except for those of parameters, which an optimizer's step changes. Operators run immediately. The memory
/// is reused once the last copy is destroyed.
class Tensor {
  public:
    /// Empty: anything except assigning to it throws EmptyError.
    Tensor() = default;

    /// Copies the values. @throws UsageError if their number does not match the shape
    template <TensorElement Element>
    static Tensor of(std::span<const Element> values, const Shape& shape) {
        return copied(std::as_bytes(values), values.size(), shape, data_type_of<Element>);
    }
    /// Copies the values. @throws UsageError if their number does not match the shape
    template <TensorElement Element>
    static Tensor of(const std::vector<Element>& values, const Shape& shape) {
        return of(std::span<const Element>(values), shape);
    }

    /// All elements have this value.
    static Tensor full(const Shape& shape, double value, DataType type = DataType::float32);

    /// Extents, outermost first. @throws EmptyError
    const Shape& shape() const;
    /// Type of the elements. @throws EmptyError
    DataType type() const;

    /// numpy() in Paddle. Valid as long as a copy of this tensor lives. On a GPU the first call waits for the
    /// GPU and copies the values.
    /// @throws Error if the elements have another type, or for errors in data that a GPU was given earlier
    template <TensorElement Element = float>
    std::span<const Element> values() const {
        return view().as<Element>();
    }

    /// The value of a tensor of one element. @throws NotScalarError if it has another number of elements
    template <TensorElement Element = float>
    Element item() const {
        check_is_scalar("item()");
        return values<Element>().front();
    }

    /// Adds the gradients of this scalar, [1], to those of all parameters that it depends on; if a
    /// DataParallel manages them, they are then averages over the ranks, and the call is collective. Releases
    /// the graph: intermediate results cannot be differentiated again.
    /// @throws NotScalarError; NoGradientError if it depends on no parameter; SpentGraphError;
    /// ChangedParameterError; ProgramError if one of the operators has no gradient
    void backward() const;

    /// The same values as data: no gradient flows through them.
    Tensor detach() const;

    /// Internal.
    explicit Tensor(detail::Traced traced);
    const detail::Traced& traced() const;  ///< @throws EmptyError

  private:
    static Tensor copied(std::span<const std::byte> bytes, std::size_t count, const Shape& shape,
                         DataType type);
    TensorView view() const;
    void check_is_scalar(const char* caller) const;

    std::shared_ptr<const detail::Traced> traced_;
};

/// A trainable tensor. A value type: copies refer to the same parameter.
class Parameter {
  public:
    /// Empty: anything except assigning to it throws EmptyError.
    Parameter() = default;

    /// `name` is unique in a network; the values depend on seed, name and initializer like those of a State.
    /// @throws ProgramError if the shape is invalid
    Parameter(const std::string& name, const Shape& shape, const Initializer& initializer = {},
              DataType type = DataType::float32);

    /// Name, unique in a network. @throws EmptyError
    const std::string& name() const;
    /// Extents, outermost first. @throws EmptyError
    const Shape& shape() const;
    /// Type of the elements. @throws EmptyError
    DataType type() const;

    /// Valid as long as a copy of this parameter lives; changes by optimizers are visible in it. On a GPU the
    /// call waits for the GPU and copies what has changed: call it again after a step.
    /// @throws Error if the elements have another type, or for errors in data that a GPU was given earlier
    template <TensorElement Element = float>
    std::span<const Element> values() const {
        return view().as<Element>();
    }

    /// Sets all values. Results computed from the previous values can no longer be differentiated: their
    /// backward() throws ChangedParameterError. @throws UsageError if type or number of values do not match
    template <TensorElement Element>
    void set_values(std::span<const Element> values) const {
        set(std::as_bytes(values), values.size(), data_type_of<Element>);
    }
    /// Sets all values. @throws UsageError if type or number of values do not match
    template <TensorElement Element>
    void set_values(const std::vector<Element>& values) const {
        set_values(std::span<const Element>(values));
    }

    /// Whether backward() has reached it since its gradient was last cleared.
    bool has_gradient() const;

    /// The gradient, which may be written. On a GPU the call waits for the GPU and copies the gradient; it is
    /// copied back before it is used next: call it again before writing again.
    /// @throws NoGradientError if there is none; Error if the elements have another type, or for errors in
    /// data that a GPU was given earlier
    template <TensorElement Element = float>
    std::span<Element> gradient() const {
        return gradient_view().as<Element>();
    }
    /// Removes the gradient: has_gradient() is false afterwards.
    void zero_grad() const;
    /// zero_grad()
    [[deprecated("it is called zero_grad, as in PyTorch")]] void clear_gradient() const { zero_grad(); }

    /// The parameter as a tensor for operators; it reflects every update.
    operator Tensor() const;  // NOLINT: a parameter is a tensor

    /// Internal. @throws EmptyError
    const std::shared_ptr<detail::Leaf>& leaf() const;

  private:
    TensorView view() const;
    TensorView gradient_view() const;
    void set(std::span<const std::byte> bytes, std::size_t count, DataType type) const;

    std::shared_ptr<detail::Leaf> leaf_;
};

/// While a NoGrad exists, operators record nothing for gradients: their results are data. paddle.no_grad().
class NoGrad {
  public:
    NoGrad();
    NoGrad(const NoGrad&) = delete;
    NoGrad& operator=(const NoGrad&) = delete;
    ~NoGrad();
};

/// Sets the seed of everything created from here on: initial parameters, dropout and randn(); also restarts
/// the numbering of names. The initial seed is 1. Ranks that train together use the same one. paddle.seed().
void seed(std::uint64_t seed);

/// Standard normal values, float32 or float64. They depend on the seed, on the number of such tensors created
/// before and on `stream`: pass the rank's number to get different values on each rank.
Tensor randn(const Shape& shape, std::uint64_t stream = 0, DataType type = DataType::float32);

/// The following functions run the kernels of the Program's operators of the same name (dtrain/layers.hpp),
/// and throw ProgramError naming operator, expected and given shape if an input does not fit.

/// The operator of this type with the input x: one of the following functions.
Tensor unary(std::string_view type, const Tensor& x);

/// max(x, 0), element by element; same shape.
inline Tensor relu(const Tensor& x) {
    return unary("relu", x);
}
/// The hyperbolic tangent, element by element; same shape.
inline Tensor tanh(const Tensor& x) {
    return unary("tanh", x);
}
/// 1 / (1 + exp(-x)), element by element; same shape.
inline Tensor sigmoid(const Tensor& x) {
    return unary("sigmoid", x);
}
/// exp(x) over its sum along the last axis; same shape.
inline Tensor softmax(const Tensor& x) {
    return unary("softmax", x);
}
/// x^2, element by element; same shape.
inline Tensor square(const Tensor& x) {
    return unary("square", x);
}
/// The square root, element by element; same shape. Its gradient is infinite at 0.
inline Tensor sqrt(const Tensor& x) {
    return unary("sqrt", x);
}

/// Element by element, for two tensors of one shape.
Tensor operator+(const Tensor& x, const Tensor& y);
/// x - y, element by element, for two tensors of one shape.
Tensor operator-(const Tensor& x, const Tensor& y);
/// x y, element by element, for two tensors of one shape.
Tensor operator*(const Tensor& x, const Tensor& y);
/// x / y, element by element, for two tensors of one shape.
Tensor operator/(const Tensor& x, const Tensor& y);

/// factor x + bias, element by element.
Tensor scale(const Tensor& x, double factor, double bias = 0);

/// The product of two matrices, each optionally transposed.
Tensor matmul(const Tensor& x, const Tensor& y, bool transpose_x = false, bool transpose_y = false);
Tensor mean(const Tensor& x);  ///< of all elements, [1]
Tensor sum(const Tensor& x);   ///< of all elements, [1]

/// One extent may be -1 and is inferred.
Tensor reshape(const Tensor& x, Shape shape);

/// Merges the axes from `start` to `stop` (negative: counted from the end) into one.
Tensor flatten(const Tensor& x, std::int64_t start = 1, std::int64_t stop = -1);

/// Concatenates tensors along an axis (negative: counted from the end); their other extents are the same.
Tensor concat(const std::vector<Tensor>& parts, std::int64_t axis = 0);

/// Splits x along an axis (negative: counted from the end) into parts of these sizes; one may be -1 and is
/// inferred.
std::vector<Tensor> split(const Tensor& x, std::vector<std::int64_t> sizes, std::int64_t axis = 0);

/// The same values as another type, as data: ids that came as float32 become int64. Fractions are truncated.
/// @throws UsageError if x depends on a parameter, because no gradient flows through it, or if an element
/// cannot be represented in that type
Tensor cast(const Tensor& x, DataType type);

/// x weight + bias: x [batch, n], weight [n, size], bias [size].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias);

/// Rows of the table weight [rows, width]: ids of any shape, integers in 0..rows-1; the result has one more
/// extent, the width. The gradient has the table's size. @param padding_idx an id that is looked up as zeros
/// and never trained. @throws Error if an id is out of range
Tensor embedding(const Tensor& ids, const Tensor& weight,
                 std::optional<std::int64_t> padding_idx = std::nullopt);

/// (x - mean) / sqrt(variance + epsilon) * weight + bias with mean and variance over x's last axes, which
/// have the normalized shape; at least one axis precedes them. weight and bias have one element for each
/// element that is normalised together: [element_count(normalized_shape)].
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                  double epsilon = 1e-5);

/// Options of cross_entropy().
struct CrossEntropyOptions {
    bool use_softmax = true;  ///< false: the logits are probabilities already
};

/// The mean over all rows of -log softmax(logits)[label]: logits [batch, classes], label [batch] or [batch,
/// 1] of integers. [1]. @throws Error if a label is outside the classes
Tensor cross_entropy(const Tensor& logits, const Tensor& label, const CrossEntropyOptions& options = {});

/// The mean over all elements of -label log p - (1 - label) log(1 - p) with p = sigmoid(logits): labels are
/// real numbers in 0..1 of the logits' shape. [1]. Does not overflow for any logit.
Tensor bce_with_logits(const Tensor& logits, const Tensor& label);

/// The mean of (x - y)^2 over all elements, [1].
Tensor mse_loss(const Tensor& x, const Tensor& y);

/// The fraction of rows whose largest score (the first one of equals) is at the label: scores [batch,
/// classes], label [batch] or [batch, 1]. [1], without a gradient. paddle.metric.accuracy().
Tensor accuracy(const Tensor& scores, const Tensor& label);

}  // namespace dtrain::nn
