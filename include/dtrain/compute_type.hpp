// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain {

/// The type to which the factors of matrix products and convolutions over float32 tensors, and of their
/// gradients, are rounded. Each run rounds them to nearest (with bfloat16 values below 2^-126 may become 0)
/// and sums the products in float32; the results, all parameters and every other operator stay float32. A
/// bias is added in float32; the gradient of a convolution's bias is the sum of rounded values. With float16,
/// factors beyond 65504 become infinite and those of 2^-25 and less 0: train with with_loss_scaling()
/// (passes.hpp). float16 products are supported only on GPUs.
enum class ComputeType { float32, bfloat16, float16 };

/// ComputeType
using ProductNumbers [[deprecated("it is called ComputeType")]] = ComputeType;

/// "float32", "bfloat16", "float16"
std::string to_string(ComputeType type);

/// Whether this process' CPU has bfloat16 multiplication instructions (AVX512-BF16 or AMX) that oneDNN is
/// allowed to use (ONEDNN_MAX_CPU_ISA).
bool has_bfloat16_products();

/// The reason if not: "the CPU has neither AVX512-BF16 nor AMX" or "dtrain was built without oneDNN";
/// otherwise empty.
std::string why_no_bfloat16_products();

}  // namespace dtrain
