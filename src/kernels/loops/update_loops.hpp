// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "kernels/functors/update_rules.hpp"

/// CPU loops over the rules of update_rules.hpp, for float and double.
namespace dtrain::kernels::loops {

/// A rule with the factors of one step.
template <class Real>
using Update = UpdateRules::Updates<Real>;

/// Updates n parameters and their state by gradients. @param state as many as the rule has
template <class Real>
void update(const Update<Real>& update, Real* parameters, const std::array<Real*, max_state>& state,
            const Real* gradients, std::size_t n);

}  // namespace dtrain::kernels::loops
