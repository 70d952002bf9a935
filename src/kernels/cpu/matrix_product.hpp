// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <type_traits>

#include <dtrain/compute_type.hpp>

namespace dtrain::kernels {

/// A matrix in memory, optionally read as its transpose.
template <class Real>
struct MatrixOf {
    Real* data;
    std::int64_t rows;
    std::int64_t columns;
    bool transposed = false;  ///< `data` holds the columns x rows matrix whose transpose this is

    Real& at(std::int64_t row, std::int64_t column) const {
        return transposed ? data[column * rows + row] : data[row * columns + column];
    }
};
using Matrix = MatrixOf<float>;

/// out = a b, prepared once by oneDNN for memory that does not move, or by loops if dtrain is built without
/// oneDNN. Bias and activation are separate loops of dtrain: oneDNN 2.6 has vector code for them only on
/// AVX-512 and is up to four times slower elsewhere.
class MatrixProduct {
  public:
    /// @param numbers with bfloat16 each run makes rounded copies of the factors
    MatrixProduct(Matrix a, Matrix b, Matrix out, ComputeType numbers = ComputeType::float32);

    void run() { run_(); }

  private:
    std::function<void()> run_;
};

/// The same in double precision, as three loops: for checks.
class PlainProduct {
  public:
    PlainProduct(MatrixOf<double> a, MatrixOf<double> b, MatrixOf<double> out,
                 ComputeType /*only float32*/ = ComputeType::float32)
        : a_(a), b_(b), out_(out) {}

    void run();

  private:
    MatrixOf<double> a_;
    MatrixOf<double> b_;
    MatrixOf<double> out_;
};

template <class Real>
using Product = std::conditional_t<std::is_same_v<Real, float>, MatrixProduct, PlainProduct>;

}  // namespace dtrain::kernels
