// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "gpu/operators.hpp"

namespace dtrain::gpu {

/// fc_grad_weight without the gradient of the bias.
std::unique_ptr<Kernel> make_weight_product(KernelContext& context, const KernelArguments& arguments);

}  // namespace dtrain::gpu
