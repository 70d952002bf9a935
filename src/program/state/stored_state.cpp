// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/state/stored_state.hpp"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <dtrain/error.hpp>
#include <dtrain/state_checkpoints.hpp>

#include "base/with_element.hpp"
#include "program/state/state_access.hpp"

namespace dtrain::program {
namespace {

DataType element_of(const CheckpointTensor& tensor) {
    return std::visit([]<class Value>(const std::vector<Value>&) { return data_type_of<Value>; },
                      tensor.values);
}

std::size_t count_of(const CheckpointTensor& tensor) {
    return std::visit([](const auto& values) { return values.size(); }, tensor.values);
}

/// Where a checkpoint keeps variables of this role.
template <class AnyCheckpoint>
auto& tensors_of(AnyCheckpoint& checkpoint, Role role) {
    return role == Role::parameter ? checkpoint.parameters : checkpoint.optimizer;
}

}  // namespace

CheckpointTensor stored(const TensorView& view) {
    return with_tensor_element(view.type, [&]<class Value>() -> CheckpointTensor {
        const auto values = view.as<Value>();
        return {view.shape, std::vector<Value>(values.begin(), values.end())};
    });
}

const CheckpointTensor& stored_for(const std::string& source,
                                   const std::map<std::string, CheckpointTensor>& tensors,
                                   const std::string& name, const TensorView& view) {
    const auto found = tensors.find(name);
    if (found == tensors.end())
        throw UsageError(fmt::format("{}: it has no '{}', which is to be loaded", source, name));
    const auto& tensor = found->second;
    const auto element = element_of(tensor);
    if (element != view.type || tensor.shape != view.shape)
        throw UsageError(fmt::format("{}: '{}' is {} {}, expected {} {}", source, name,
                                     dtrain::to_string(element), dtrain::to_string(tensor.shape),
                                     dtrain::to_string(view.type), dtrain::to_string(view.shape)));
    if (count_of(tensor) != view.size())
        throw UsageError(fmt::format("{}: '{}' {} has {} values, expected {}", source, name,
                                     dtrain::to_string(tensor.shape), count_of(tensor), view.size()));
    return tensor;
}

void restore(const CheckpointTensor& stored, const TensorView& view) {
    with_tensor_element(view.type, [&]<class Value>() {
        std::ranges::copy(std::get<std::vector<Value>>(stored.values), view.as<Value>().begin());
    });
}

}  // namespace dtrain::program

namespace dtrain {

Checkpoint to_checkpoint(const State& state, const CheckpointHeader& header) {
    Checkpoint checkpoint;
    static_cast<CheckpointHeader&>(checkpoint) = header;
    for (const auto& [name, role, view] : program::StateAccess::to_read(state))
        program::tensors_of(checkpoint, role)[name] = program::stored(view);
    return checkpoint;
}

void restore(const State& state, const Checkpoint& checkpoint) {
    const auto stored_for = [&checkpoint](const StateTensor& tensor) -> const CheckpointTensor& {
        return program::stored_for("the checkpoint", program::tensors_of(checkpoint, tensor.role),
                                   tensor.name, tensor.view);
    };
    for (const auto& tensor : program::StateAccess::on_host(state)) stored_for(tensor);
    for (const auto& tensor : state.tensors()) program::restore(stored_for(tensor), tensor.view);
}

}  // namespace dtrain
