// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "kernels/kernel.hpp"

/// Direct convolutions: in double precision for checks, and in single precision if dtrain is built without
/// oneDNN.
namespace dtrain::kernels {

template <class Real>
std::unique_ptr<Kernel> make_plain_conv2d(const KernelArguments& arguments);
template <class Real>
std::unique_ptr<Kernel> make_plain_conv2d_grad_input(const KernelArguments& arguments);
template <class Real>
std::unique_ptr<Kernel> make_plain_conv2d_grad_filter(const KernelArguments& arguments);

}  // namespace dtrain::kernels
