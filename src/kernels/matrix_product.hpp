// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
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

/// out = activation(a b + bias), prepared once by oneDNN for memory that stays where it is.
class MatrixProduct {
  public:
    /// `bias` has one value per column of out, or is null. `activation` is "", "relu", "tanh" or "sigmoid".
    MatrixProduct(Matrix a, Matrix b, float* bias, Matrix out, const std::string& activation = {});

    void run();

  private:
    dnnl::matmul primitive_;
    std::vector<dnnl::memory> memories_;
    std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace dtrain::kernels
