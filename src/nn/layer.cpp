// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include <dtrain/nn_layer.hpp>

#include "nn/eager_device.hpp"
#include "nn/graph.hpp"
#include "nn/leaf.hpp"
#include "nn/numbering.hpp"

namespace dtrain::nn {

Layer::~Layer() = default;

std::vector<Parameter> Layer::parameters() const {
    auto all = parameters_;
    for (const auto& parameter : parameters_) parameter.leaf()->is_listed = true;
    for (const auto& layer : layers_)
        for (auto& parameter : layer->parameters()) all.push_back(std::move(parameter));
    return all;
}

Parameter Layer::add_parameter(const std::string& name, const Shape& shape, const Initializer& initializer,
                               DataType type) {
    return parameters_.emplace_back(name, shape, initializer, type);
}

std::string Layer::unique_name(const std::string& stem) {
    return fmt::format("{}_{}", stem, eager::numbering().number(stem));
}

void Layer::set_training(bool is_training) {
    is_training_ = is_training;
    for (const auto& layer : layers_) layer->set_training(is_training);
}

Tensor Sequential::forward(const Tensor& x) {
    auto result = x;
    for (const auto& layer : layers()) result = (*layer)(result);
    return result;
}

Linear::Linear(std::int64_t in, std::int64_t out, const LinearOptions& options) {
    const auto name = options.name.empty() ? unique_name("fc") : options.name;
    weight_ = add_parameter(name + ".weight", {in, out}, Initializer::xavier_uniform(in, out), options.type);
    bias_ = add_parameter(name + ".bias", {out}, {}, options.type);
}

LayerNorm::LayerNorm(Shape normalized_shape, double epsilon, const LayerNormOptions& options)
    : normalized_shape_(std::move(normalized_shape)), epsilon_(epsilon) {
    const auto name = options.name.empty() ? unique_name("layer_norm") : options.name;
    if (normalized_shape_.empty() ||
        std::ranges::any_of(normalized_shape_, [](std::int64_t extent) { return extent < 1; }))
        throw ProgramError(fmt::format("LayerNorm: normalized_shape is {}, expected extents of at least 1",
                                       to_string(normalized_shape_)),
                           "layer_norm", "");
    const auto size = element_count(normalized_shape_);
    weight_ = add_parameter(name + ".scale", {size}, Initializer::constant(1), options.type);
    bias_ = add_parameter(name + ".bias", {size}, {}, options.type);
}

Dropout::Dropout(double probability)
    : probability_(probability),
      seed_(static_cast<std::int64_t>(eager::numbering().seed)),
      stream_(eager::numbering().number("dropout")) {
    if (!(probability >= 0 && probability < 1))
        throw UsageError(
            fmt::format("Dropout: the probability is {}, expected at least 0 and below 1", probability));
}

Tensor Dropout::forward(const Tensor& x) {
    if (!is_training()) return x;
    const eager::Traced step{eager::own_device().make_number(step_++), {}};
    const eager::Traced part{eager::own_device().make_number(part_), {}};
    auto results = eager::run_traced("dropout", {{"x", x.traced()}, {"step", step}, {"batch", part}}, {"out"},
                                     {{"probability", probability_}, {"seed", seed_}, {"stream", stream_}});
    return Tensor(std::move(results.front()));
}

}  // namespace dtrain::nn
