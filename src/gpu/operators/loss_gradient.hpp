// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "gpu/operators/give.hpp"

namespace dtrain::gpu {

/// The gradient of a loss with respect to itself, times the loss scale.
template <class Real>
struct LossGradient {
    Real value;
    const Real* scale;  ///< null: 1
    Real* out;

    static LossGradient from(const KernelArguments& arguments) {
        return {static_cast<Real>(arguments.number("value")),
                arguments.has_input("scale") ? arguments.in<Real>("scale").data() : nullptr,
                arguments.out<Real>("out").data()};
    }

    ON_DEVICE void operator()(std::size_t i) const { out[i] = scale != nullptr ? value * *scale : value; }
};

}  // namespace dtrain::gpu
