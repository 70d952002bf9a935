// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include <dtrain/optimizer.hpp>

#include "kernels/loops/loops.hpp"

/// Adds the regularisation term to a row's gradient. Each function may write to `out`, which has the same
/// number of floats, and returns a pointer to the resulting gradient.
namespace dtrain::ps {

inline const float* regularised(NoDecay /*decay*/, const float* gradient, const float* /*weights*/,
                                std::span<float> /*out*/) {
    return gradient;
}

inline const float* regularised(L1Decay decay, const float* gradient, const float* weights,
                                std::span<float> out) {
    kernels::loops::add_sign(gradient, weights, static_cast<float>(decay.coefficient), out.data(),
                             out.size());
    return out.data();
}

inline const float* regularised(L2Decay decay, const float* gradient, const float* weights,
                                std::span<float> out) {
    kernels::loops::add_scaled(gradient, weights, static_cast<float>(decay.coefficient), out.data(),
                               out.size());
    return out.data();
}

}  // namespace dtrain::ps
