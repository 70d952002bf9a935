// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>

#include "kernels/gpu.hpp"
#include "program/state/neighbours.hpp"
#include "program/state/state_on_gpu.hpp"

namespace dtrain::program {

/// Some tensors of a State for a caller that reads them after many steps and never writes: if the State is on
/// a GPU, a host copy of these tensors only; otherwise no copy.
class HostValues {
  public:
    /// @param state already on the device of its executors @throws Error if it has no such tensor
    HostValues(State state, const std::vector<std::string>& names);

    /// In the order of the names. The addresses do not change; bring() updates the contents.
    const std::vector<TensorView>& views() const { return views_; }

    /// Updates the views to the current values of the State; on a GPU they keep these until the next call.
    /// @throws Error as Executor::fetch()
    void bring();

  private:
    State state_;
    StateOnGpu* on_gpu_;
    Neighbours device_;
    kernels::Gpu::Memory host_;
    std::vector<TensorView> views_;
};

}  // namespace dtrain::program
