// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/kernel.hpp"

namespace dtrain::program {

/// Updates of one kind whose tensors lie side by side in memory become one update of all their elements. The
/// elements between tensors take part: they are zero in parameters, gradients and optimizer state, and stay
/// so.
/// @param updates of parameters that are all different, of one operator type and with the same attributes
std::vector<kernels::KernelArguments> merge_updates(std::vector<kernels::KernelArguments> updates);

}  // namespace dtrain::program
