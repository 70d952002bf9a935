// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <dtrain/optimizer.hpp>

#include "kernels/functors/optimizer_info.hpp"
#include "kernels/loops/update_loops.hpp"

namespace dtrain::ps {

using kernels::learning_rate_of;

/// Updates of rows in one step. They use the same loops as the operators of a Program, so the bits are those
/// of a dense parameter.
class RowUpdate {
  public:
    /// @param rate learning rate, instead of the optimizer's own
    /// @param step 1, 2, ...: Adam's t
    RowUpdate(const Optimizer& optimizer, double rate, std::int64_t step);

    /// Updates n weights p; their states are one after the other, n floats each. @param g gradient
    void operator()(float* p, float* state, const float* g, std::size_t n) const {
        if (update_) kernels::loops::update(*update_, p, {state, state + n}, g, n);
    }

  private:
    std::optional<kernels::loops::Update<float>> update_;  // none: rows stay as they are
};

/// Number of state floats per weight.
std::size_t states_of(const Optimizer& optimizer);

/// Initial value of the state.
float initial_state(const Optimizer& optimizer);

}  // namespace dtrain::ps
