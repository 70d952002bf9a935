// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "eager/plan.hpp"
#include "kernels/kernel.hpp"

namespace dtrain::eager {

/// Runs an operator of a plan over tensors whose types are the plan's: by the kernel that was prepared
/// for the same memory before, if it is still there, or by a new one. So operators of a loop that gets the
/// same memory in each step are prepared once.
/// @throws Error when the data cannot be (a label outside the classes)
void run_operator(const NumberedOperator& op, std::vector<kernels::SlotTensor> inputs,
                  std::vector<kernels::SlotTensor> outputs);

/// How many kernels were prepared so far: it stands still in a loop.
std::size_t kernels_prepared();

}  // namespace dtrain::eager
