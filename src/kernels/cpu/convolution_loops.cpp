// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// In place of convolution.cpp where dtrain is built without oneDNN.
#include "kernels/cpu/plain_convolution.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {

Entries convolution_kernels() {
    return {
        {"conv2d", by_type<make_plain_conv2d<float>, make_plain_conv2d<double>>},
        {"conv2d_grad_filter",
         by_type<make_plain_conv2d_grad_filter<float>, make_plain_conv2d_grad_filter<double>>},
        {"conv2d_grad_input",
         by_type<make_plain_conv2d_grad_input<float>, make_plain_conv2d_grad_input<double>>},
    };
}

}  // namespace dtrain::kernels
