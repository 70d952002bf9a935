// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <dtrain/executor.hpp>

#include "program/state_content.hpp"

namespace dtrain::program {

/// What executors and this room's own readers know of a State.
class StateAccess {
  public:
    /// As State::tensors(), but the caller does not write to them.
    static const std::vector<StateTensor>& to_read(const State& state) {
        state.content_->read_on_host();
        return state.content_->tensors;
    }

    /// Null where no executor computes with it on a GPU.
    static StateOnGpu* on_gpu(const State& state) { return state.content_->on_gpu.get(); }

    /// Puts it on a GPU. It must not be on another one, or shared.
    static StateOnGpu& put_on(const State& state, std::shared_ptr<kernels::Gpu> gpu, int number);

    /// The variables and where they are on the GPU that the state was put on.
    static std::vector<StateTensor> on_device(const State& state);

    /// The variables where they are in this process' memory.
    static const std::vector<StateTensor>& on_host(const State& state) { return state.content_->tensors; }
};

}  // namespace dtrain::program
