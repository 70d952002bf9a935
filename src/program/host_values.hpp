// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>

#include "kernels/gpu.hpp"
#include "program/neighbours.hpp"
#include "program/state_on_gpu.hpp"

namespace dtrain::program {

/// Some tensors of a State, for who reads them after many a step and writes none: where it is on a GPU, a
/// copy of these alone, and without a copy where it is not.
class HostValues {
  public:
    /// @param state is where executors compute with it already
    /// @throws Error when it has no such tensor
    HostValues(State state, const std::vector<std::string>& names);

    /// In the order of the names. They stay where they are; what is there, bring() says.
    const std::vector<TensorView>& views() const { return views_; }

    /// The views show what the State has now, and on a GPU go on showing that.
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
