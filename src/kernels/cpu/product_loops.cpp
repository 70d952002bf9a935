// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// In place of matrix_product.cpp where dtrain is built without oneDNN.
#include <algorithm>
#include <cstddef>
#include <vector>

#include <dtrain/error.hpp>

#include "kernels/cpu/matrix_product.hpp"
#include "kernels/cpu/product_library.hpp"

namespace dtrain {
namespace kernels {
namespace {

// Rows and columns of the second factor that stay in the cache while rows of the first one are processed.
constexpr std::int64_t deep = 128;
constexpr std::int64_t wide = 512;
// Rows of the result that are computed together, sharing loads of the second factor.
constexpr std::int64_t rows_together = 4;

/// A factor in row-major order; copied at each run if it is stored column-major.
class ByRows {
  public:
    explicit ByRows(const Matrix& matrix)
        : matrix_(matrix),
          copy_(matrix.transposed ? static_cast<std::size_t>(matrix.rows * matrix.columns) : 0) {}

    const float* data() {
        if (!matrix_.transposed) return matrix_.data;
        constexpr std::int64_t block = 32;
        for (std::int64_t first = 0; first < matrix_.rows; first += block)
            for (std::int64_t column = 0; column < matrix_.columns; ++column)
                for (auto row = first; row < std::min(first + block, matrix_.rows); ++row)
                    copy_[static_cast<std::size_t>(row * matrix_.columns + column)] = matrix_.at(row, column);
        return copy_.data();
    }

  private:
    Matrix matrix_;
    std::vector<float> copy_;
};

/// `count` rows of the result; each element's products are added in a fixed order, so the result does not
/// depend on the number of threads.
void multiply_rows(const float* a, const float* b, float* out, std::int64_t count, std::int64_t depth,
                   std::int64_t columns) {
    std::fill_n(out, count * columns, 0.0F);
    for (std::int64_t left = 0; left < columns; left += wide) {
        const auto right = std::min(left + wide, columns);
        for (std::int64_t top = 0; top < depth; top += deep) {
            const auto bottom = std::min(top + deep, depth);
            for (std::int64_t row = 0; row < count; ++row) {
                auto* sums = out + row * columns;
                for (auto k = top; k < bottom; ++k) {
                    const auto factor = a[row * depth + k];
                    const auto* others = b + k * columns;
                    for (auto column = left; column < right; ++column)
                        sums[column] += factor * others[column];
                }
            }
        }
    }
}

}  // namespace

MatrixProduct::MatrixProduct(Matrix a, Matrix b, Matrix out, ComputeType numbers) {
    if (numbers != ComputeType::float32)
        throw Error("this dtrain was built without oneDNN, and multiplies float32 alone on CPUs");
    run_ = [left = ByRows(a), right = ByRows(b), out, depth = a.columns]() mutable {
        const auto* first = left.data();
        const auto* second = right.data();
#pragma omp parallel for schedule(static)
        for (std::int64_t row = 0; row < out.rows; row += rows_together)
            multiply_rows(first + row * depth, second, out.data + row * out.columns,
                          std::min(rows_together, out.rows - row), depth, out.columns);
    };
}

std::string onednn_version() {
    return "";
}

}  // namespace kernels

bool has_bfloat16_products() {
    return false;
}

std::string why_no_bfloat16_products() {
    return "dtrain was built without oneDNN";
}

}  // namespace dtrain
