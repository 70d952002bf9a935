// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <dtrain/checkpoint.hpp>
#include <dtrain/nn_training.hpp>

#include "nn/graph.hpp"
#include "program/state/stored_state.hpp"

namespace dtrain::nn {
namespace {

using Tensors = std::map<std::string, CheckpointTensor>;

// A tensor and the location of its values.
struct NamedTensor {
    std::string name;
    TensorView view;
};

// host: how the values are accessed, to read or to write them
std::vector<NamedTensor> parameters_of(const Layer& layer, TensorView (eager::Value::*host)() const) {
    std::vector<NamedTensor> named;
    for (const auto& parameter : layer.parameters()) {
        const auto same = std::ranges::find(named, parameter.name(), &NamedTensor::name);
        if (same != named.end())
            throw ProgramError(
                fmt::format("two parameters of the layer have the name '{}'", parameter.name()), "",
                parameter.name());
        named.push_back({parameter.name(), (parameter.leaf()->value.*host)()});
    }
    return named;
}

std::vector<NamedTensor> kept_by(const Optimizer* optimizer) {
    std::vector<NamedTensor> named;
    if (optimizer != nullptr)
        for (const auto& tensor : optimizer->state().tensors()) named.push_back({tensor.name, tensor.view});
    return named;
}

std::vector<Dropout*> dropouts_of(const Layer& layer) {
    std::vector<Dropout*> all;
    for (const auto& each : layer.layers()) {
        if (auto* const dropout = dynamic_cast<Dropout*>(each.get())) all.push_back(dropout);
        for (auto* const inner : dropouts_of(*each)) all.push_back(inner);
    }
    return all;
}

std::string uses_name(const Dropout& dropout) {
    return fmt::format("dropout_{}.uses", dropout.number());
}

void store(const std::vector<NamedTensor>& named, Tensors& tensors) {
    for (const auto& [name, view] : named) tensors[name] = program::stored(view);
}

void check(const std::string& file, const std::vector<NamedTensor>& named, const Tensors& tensors) {
    for (const auto& [name, view] : named) program::stored_for(file, tensors, name, view);
}

void restore(const std::vector<NamedTensor>& named, const Tensors& tensors) {
    for (const auto& [name, view] : named) program::restore(tensors.at(name), view);
}

}  // namespace

void save(const std::filesystem::path& path, const Layer& layer, const Optimizer* optimizer) {
    Checkpoint checkpoint;
    store(parameters_of(layer, &eager::Value::on_host), checkpoint.parameters);
    store(kept_by(optimizer), checkpoint.optimizer);
    for (const auto* const dropout : dropouts_of(layer))
        checkpoint.optimizer[uses_name(*dropout)] = {{1}, std::vector{dropout->uses()}};
    save_checkpoint(path, checkpoint);
}

void load(const std::filesystem::path& path, const Layer& layer, const Optimizer* optimizer) {
    const auto checkpoint = load_checkpoint(path);
    const auto parameters = parameters_of(layer, &eager::Value::host_to_write);
    auto kept = kept_by(optimizer);
    const auto dropouts = dropouts_of(layer);
    std::vector<std::int64_t> uses(dropouts.size(), 0);
    for (std::size_t i = 0; i < dropouts.size(); ++i)
        kept.push_back({uses_name(*dropouts[i]), {&uses[i], {1}, DataType::int64}});
    check(path.string(), parameters, checkpoint.parameters);
    check(path.string(), kept, checkpoint.optimizer);
    restore(parameters, checkpoint.parameters);
    for (const auto& parameter : layer.parameters()) ++parameter.leaf()->version;
    restore(kept, checkpoint.optimizer);
    for (std::size_t i = 0; i < dropouts.size(); ++i) dropouts[i]->set_uses(uses[i]);
}

}  // namespace dtrain::nn
