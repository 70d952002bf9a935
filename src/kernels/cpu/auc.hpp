// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace dtrain::kernels {

/// Implements dtrain::area_under_curve() of metrics.hpp.
double area_under_curve(std::span<const double> positives, std::span<const double> negatives);

}  // namespace dtrain::kernels
