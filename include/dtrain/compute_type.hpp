// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace dtrain {

/// What the factors of matrix products and convolutions over float32 tensors, and of their gradients, are
/// rounded to. Each run rounds them to the nearest (with bfloat16 numbers below 2^-126 may become 0) and sums
/// the products in float32; the results, all parameters and every other operator stay float32. A bias is
/// added in float32; the gradient of a convolution's is the sum of rounded numbers. With float16 factors
/// beyond 65504 become infinite and those of 2^-25 and less 0: train with with_loss_scaling() (passes.hpp).
/// Only GPUs multiply float16.
enum class ComputeType { float32, bfloat16, float16 };

using ProductNumbers [[deprecated("it is called ComputeType")]] = ComputeType;

/// "float32", "bfloat16", "float16"
std::string to_string(ComputeType type);

/// Whether this process' CPU has instructions that multiply bfloat16 (AVX512-BF16 or AMX), and oneDNN is
/// allowed to use them (ONEDNN_MAX_CPU_ISA).
bool has_bfloat16_products();

/// Why not: "the CPU has neither AVX512-BF16 nor AMX" or "dtrain was built without oneDNN"; empty when it
/// has.
std::string why_no_bfloat16_products();

}  // namespace dtrain
