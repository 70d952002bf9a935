// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "gpu/operators.hpp"

namespace dtrain::gpu {

/// Operators that follow each other (program/joined_operators.hpp), by fewer kernels than they have alone
/// where these tensors allow it. Nothing when they are none of those.
std::unique_ptr<Kernel> make_joined_kernel(KernelContext& context,
                                           const std::vector<kernels::ChainLink>& links);

}  // namespace dtrain::gpu
