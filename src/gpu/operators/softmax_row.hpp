// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>

#include "gpu/on_device.hpp"

namespace dtrain::gpu {

template <class Real>
struct SoftmaxParts {
    Real largest;
    Real sum;  ///< of exp(x - largest)
};

/// y = softmax(x) for one row, computed by all threads of a team.
template <class Real, class Team>
ON_GPU SoftmaxParts<Real> softmax_row(const Team& team, const Real* x, Real* y, std::size_t columns) {
    Real largest = x[0];
    for (std::size_t i = team.thread(); i < columns; i += team.threads())
        largest = x[i] > largest ? x[i] : largest;
    largest = team.max(largest);
    Real sum = 0;
    for (std::size_t i = team.thread(); i < columns; i += team.threads())
        sum += y[i] = std::exp(x[i] - largest);
    sum = team.sum(sum);
    const Real scale = 1 / sum;
    for (std::size_t i = team.thread(); i < columns; i += team.threads()) y[i] *= scale;
    return {largest, sum};
}

}  // namespace dtrain::gpu
