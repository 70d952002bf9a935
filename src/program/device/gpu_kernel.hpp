// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "kernels/gpu.hpp"

namespace dtrain::program {

/// @throws ProgramError if there is no kernel for this operator, or not for these tensors; the message
/// suggests the CPU
std::unique_ptr<kernels::Kernel> make_gpu_kernel(kernels::Gpu& gpu, const std::string& operator_type,
                                                 const kernels::KernelArguments& arguments);

}  // namespace dtrain::program
