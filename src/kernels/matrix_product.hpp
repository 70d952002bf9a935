// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <dnnl.hpp>

namespace dtrain::kernels {

/// A matrix of floats somewhere in memory, possibly read as its transpose.
struct Matrix {
    float* data;
    std::int64_t rows;
    std::int64_t columns;
    bool transposed = false;  ///< `data` holds the columns x rows matrix whose transpose this is
};

/// out = a b, prepared once by oneDNN for memory that stays where it is. Bias and activation are loops of
/// ours behind it: oneDNN 2.6 has vector code for them on AVX-512 only and is up to four times slower
/// elsewhere.
class MatrixProduct {
  public:
    MatrixProduct(Matrix a, Matrix b, Matrix out);

    void run();

  private:
    dnnl::matmul primitive_;
    std::vector<dnnl::memory> memories_;
    std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace dtrain::kernels
