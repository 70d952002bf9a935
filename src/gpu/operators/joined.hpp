// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "gpu/operators.hpp"

namespace dtrain::gpu {

/// Consecutive operators (program/passes/joined_operators.hpp), in fewer kernels than they have separately if
/// these tensors allow it. Null if they are not such a sequence.
std::unique_ptr<Kernel> make_joined_kernel(KernelContext& context,
                                           const std::vector<kernels::ChainLink>& links);

}  // namespace dtrain::gpu
