// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/stored_state.hpp"

#include <vector>

#include "base/with_element.hpp"
#include "program/state_access.hpp"

namespace dtrain::program {

CheckpointTensor stored(const TensorView& view) {
    return with_element(view.type, [&]<class Value>() -> CheckpointTensor {
        const auto values = view.as<Value>();
        return {view.shape, std::vector<Value>(values.begin(), values.end())};
    });
}

void store(const State& state, Checkpoint& checkpoint) {
    checkpoint.parameters.clear();
    checkpoint.optimizer.clear();
    for (const auto& tensor : StateAccess::to_read(state)) {
        auto& tensors = tensor.role == Role::parameter ? checkpoint.parameters : checkpoint.optimizer;
        tensors[tensor.name] = stored(tensor.view);
    }
}

}  // namespace dtrain::program
