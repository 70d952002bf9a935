// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/kernel.hpp"
#include "nn/plan.hpp"

namespace dtrain::eager {

/// Runs an operator of a plan over tensors of the plan's types: with the kernel that was prepared earlier for
/// the same memory, if it is still cached, or with a new one. So operators of a loop that gets the same
/// memory in each step are prepared only once.
/// @throws Error if the data are invalid (a label outside the classes)
void run_operator(const NumberedOperator& op, std::vector<kernels::SlotTensor> inputs,
                  std::vector<kernels::SlotTensor> outputs);

/// Number of kernels prepared so far: constant in a loop.
std::size_t kernels_prepared();

}  // namespace dtrain::eager
