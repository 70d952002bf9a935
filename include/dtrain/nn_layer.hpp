// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <dtrain/nn_tensor.hpp>

namespace dtrain::nn {

/// A part of a network: parameters, sub-layers, and a function of an input. To define your own:
///
///     class LinearNet : public nn::Layer {
///       public:
///         nn::Tensor forward(const nn::Tensor& x) override { return linear2_(linear1_(x)); }
///
///       private:
///         nn::Linear& linear1_ = add<nn::Linear>(10, 10);
///         nn::Linear& linear2_ = add<nn::Linear>(10, 1);
///     };
///
/// Its sub-layers are those created by add(): other members that are layers are not found, and not trained. A
/// layer can be moved, not copied; a moved-from layer throws EmptyError when it is used.
class Layer {
  public:
    Layer() = default;
    Layer(Layer&&) noexcept = default;
    Layer& operator=(Layer&&) noexcept = default;
    Layer(const Layer&) = delete;
    Layer& operator=(const Layer&) = delete;
    virtual ~Layer();

    /// The layer's function of its input. @throws ProgramError if the input does not fit
    virtual Tensor forward(const Tensor& x) = 0;

    /// forward()
    Tensor operator()(const Tensor& x) { return forward(x); }

    /// Its own parameters, then those of its sub-layers, in the order in which they were added.
    std::vector<Parameter> parameters() const;

    /// The sub-layers, in the order in which they were added.
    const std::vector<std::shared_ptr<Layer>>& layers() const { return layers_; }

    /// In training mode, the initial mode, dropout is active. train() and eval() apply to sub-layers, too.
    void train() { set_training(true); }
    /// Leaves training mode: dropout has no effect.
    void eval() { set_training(false); }
    /// Whether it is in training mode.
    bool is_training() const { return is_training_; }

  protected:
    /// Creates a sub-layer, which lives as long as this layer.
    template <std::derived_from<Layer> Added, class... Arguments>
    Added& add(Arguments&&... arguments) {
        auto layer = std::make_shared<Added>(std::forward<Arguments>(arguments)...);
        auto& added = *layer;
        add_layer(std::move(layer));
        return added;
    }
    /// Adds a sub-layer that was created elsewhere.
    void add_layer(std::shared_ptr<Layer> layer) { layers_.push_back(std::move(layer)); }

    /// Creates a parameter of this layer. @throws as Parameter
    Parameter add_parameter(const std::string& name, const Shape& shape, const Initializer& initializer = {},
                            DataType type = DataType::float32);

    /// `stem` with the next number for that stem: fc_0, fc_1, ...
    static std::string unique_name(const std::string& stem);

  private:
    void set_training(bool is_training);

    std::vector<Parameter> parameters_;
    std::vector<std::shared_ptr<Layer>> layers_;
    bool is_training_ = true;
};

/// Layers applied one after the other: Sequential{Flatten(), Linear(784, 10)}. With braces, C++ constructs
/// them from left to right, so they are numbered in that order; with parentheses the order is unspecified.
class Sequential final : public Layer {
  public:
    /// The layers, moved into this one.
    template <std::derived_from<Layer>... Layers>
    explicit Sequential(Layers... layers) {
        (add<Layers>(std::move(layers)), ...);
    }

    /// The output of the last layer. @throws ProgramError if a layer's input does not fit
    Tensor forward(const Tensor& x) override;
};

/// nn::flatten() as a layer.
class Flatten final : public Layer {
  public:
    /// @param start the first axis that is merged @param stop the last one; negative: counted from the end
    explicit Flatten(std::int64_t start = 1, std::int64_t stop = -1) : start_(start), stop_(stop) {}

    /// flatten() of x.
    Tensor forward(const Tensor& x) override { return flatten(x, start_, stop_); }

  private:
    std::int64_t start_;
    std::int64_t stop_;
};

/// Options of Linear.
struct LinearOptions {
    std::string name = {};              ///< stem of the parameters' names; "" picks fc_0, fc_1, ...
    DataType type = DataType::float32;  ///< of the parameters, float32 or float64
};

/// x weight + bias. Its parameters are NAME.weight [in, out], Xavier uniform, and NAME.bias [out], zero;
/// these are the parameters of layers::fc(), and with the same name they have the same initial values.
class Linear final : public Layer {
  public:
    /// @throws ProgramError if a size is below 1
    Linear(std::int64_t in, std::int64_t out, const LinearOptions& options = {});

    /// linear() with this layer's parameters: x [batch, in], result [batch, out].
    Tensor forward(const Tensor& x) override { return linear(x, weight_, bias_); }

    /// NAME.weight
    const Parameter& weight() const { return weight_; }
    /// NAME.bias
    const Parameter& bias() const { return bias_; }

  private:
    Parameter weight_;
    Parameter bias_;
};

/// relu() as a layer.
class ReLU final : public Layer {
  public:
    /// relu() of x.
    Tensor forward(const Tensor& x) override { return relu(x); }
};

/// tanh() as a layer.
class Tanh final : public Layer {
  public:
    /// tanh() of x.
    Tensor forward(const Tensor& x) override { return tanh(x); }
};

/// sigmoid() as a layer.
class Sigmoid final : public Layer {
  public:
    /// sigmoid() of x.
    Tensor forward(const Tensor& x) override { return sigmoid(x); }
};

/// Softmax along the last axis.
class Softmax final : public Layer {
  public:
    /// softmax() of x.
    Tensor forward(const Tensor& x) override { return softmax(x); }
};

/// Options of Embedding.
struct EmbeddingOptions {
    /// An id that is looked up as zeros and never trained; negative: counted from the end.
    std::optional<std::int64_t> padding_idx = std::nullopt;
    std::string name = {};  ///< stem of the parameter's name; "" picks embedding_0, embedding_1, ...
    DataType type = DataType::float32;  ///< of the parameter, float32 or float64
};

/// embedding() as a layer. Its parameter is NAME.weight [num_embeddings, embedding_dim], Xavier uniform; this
/// is the parameter of layers::embedding(), and with the same name it has the same initial values.
class Embedding final : public Layer {
  public:
    /// @throws ProgramError if a size is below 1 or padding_idx is not a row
    Embedding(std::int64_t num_embeddings, std::int64_t embedding_dim, const EmbeddingOptions& options = {});

    /// embedding() with this layer's table.
    Tensor forward(const Tensor& ids) override { return embedding(ids, weight_, padding_idx_); }

    /// NAME.weight
    const Parameter& weight() const { return weight_; }

  private:
    std::optional<std::int64_t> padding_idx_;
    Parameter weight_;
};

/// Options of LayerNorm.
struct LayerNormOptions {
    std::string name = {};  ///< stem of the parameters' names; "" picks layer_norm_0, layer_norm_1, ...
    DataType type = DataType::float32;  ///< of the parameters, float32 or float64
};

/// layer_norm() as a layer. Its parameters are NAME.scale, one, and NAME.bias, zero, each with one element
/// for each element that is normalised together; these are the parameters of layers::layer_norm().
class LayerNorm final : public Layer {
  public:
    /// @throws ProgramError if an extent is below 1
    explicit LayerNorm(Shape normalized_shape, double epsilon = 1e-5, const LayerNormOptions& options = {});
    /// Of the last axis, which has this extent. @throws ProgramError if it is below 1
    explicit LayerNorm(std::int64_t last_extent, double epsilon = 1e-5, const LayerNormOptions& options = {})
        : LayerNorm(Shape{last_extent}, epsilon, options) {}

    /// LayerNorm({8, 8}): without this overload the braces could also mean the move constructor.
    template <std::size_t Axes>
    explicit LayerNorm(const std::int64_t (&normalized_shape)[Axes])  // NOLINT: nothing else takes braces
        : LayerNorm(Shape(std::begin(normalized_shape), std::end(normalized_shape))) {}

    /// layer_norm() with this layer's parameters.
    Tensor forward(const Tensor& x) override {
        return layer_norm(x, normalized_shape_, weight_, bias_, epsilon_);
    }

    /// NAME.scale
    const Parameter& weight() const { return weight_; }
    /// NAME.bias
    const Parameter& bias() const { return bias_; }

  private:
    Shape normalized_shape_;
    double epsilon_;
    Parameter weight_;
    Parameter bias_;
};

/// In training, sets elements to zero with this probability and divides the others by 1 - probability; in
/// eval() mode x is unchanged. The dropped elements depend on the seed, the layer's number among the dropouts
/// created so far, the number of earlier uses of the layer in training, and the element's index in the batch;
/// under DataParallel its index in the batch of all ranks, so that any division drops the same elements as
/// one rank would.
class Dropout final : public Layer {
  public:
    /// @throws UsageError unless 0 <= probability < 1
    explicit Dropout(double probability = 0.5);

    Tensor forward(const Tensor& x) override;  ///< x, in training with dropped elements. @throws EmptyError

    /// Sets which of the equally sized parts of a batch this rank has; called by DataParallel.
    void set_part(std::int64_t part) { part_ = part; }

    /// The layer's number among the dropouts.
    std::int64_t number() const { return stream_; }

    /// Number of uses in training; stored in checkpoints.
    std::int64_t uses() const { return step_; }
    /// Continues from a checkpoint, or counts anew.
    void set_uses(std::int64_t uses) { step_ = uses; }

  private:
    double probability_;
    std::int64_t seed_;
    std::int64_t stream_;
    std::int64_t step_ = 0;
    std::int64_t part_ = 0;
};

/// cross_entropy() as an object.
struct CrossEntropyLoss {
    CrossEntropyOptions options = {};  ///< whether the input is logits

    /// cross_entropy() with these options.
    Tensor operator()(const Tensor& logits, const Tensor& label) const {
        return cross_entropy(logits, label, options);
    }
};

/// bce_with_logits() as an object.
struct BCEWithLogitsLoss {
    /// bce_with_logits()
    Tensor operator()(const Tensor& logits, const Tensor& label) const {
        return bce_with_logits(logits, label);
    }
};

/// mse_loss() as an object.
struct MSELoss {
    /// mse_loss()
    Tensor operator()(const Tensor& x, const Tensor& y) const { return mse_loss(x, y); }
};

}  // namespace dtrain::nn
