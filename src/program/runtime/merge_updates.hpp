// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "kernels/kernel.hpp"

namespace dtrain::program {

/// Merges updates of one kind whose tensors are adjacent in memory into one update of all their elements,
/// including the padding between tensors: it is zero in parameters, gradients and optimizer state, and stays
/// so.
/// @param updates of different parameters, of one operator type and with the same attributes
std::vector<kernels::KernelArguments> merge_updates(std::vector<kernels::KernelArguments> updates);

}  // namespace dtrain::program
