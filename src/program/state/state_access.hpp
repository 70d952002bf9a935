// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <dtrain/executor.hpp>

#include "program/state/state_content.hpp"

namespace dtrain::detail {

/// Access to a State for executors and other code of this directory.
class StateAccess {
  public:
    /// Like State::tensors(), for callers that only read.
    static const std::vector<StateTensor>& to_read(const State& state) {
        state.content_->read_on_host();
        return state.content_->tensors;
    }

    /// Null if no executor uses it on a GPU.
    static program::StateOnGpu* on_gpu(const State& state) { return state.content_->on_gpu.get(); }

    /// Places it on a GPU. It must not be on another one, or shared.
    static program::StateOnGpu& put_on(const State& state, std::shared_ptr<kernels::Gpu> gpu, int number);

    /// The variables with their memory on the State's GPU.
    static std::vector<StateTensor> on_device(const State& state);

    /// The variables with their host memory.
    static const std::vector<StateTensor>& on_host(const State& state) { return state.content_->tensors; }
};

}  // namespace dtrain::detail

namespace dtrain::program {
using detail::StateAccess;
}  // namespace dtrain::program
