// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "gpu/stream.hpp"

namespace dtrain::gpu {

/// Of the factors; sums and results are float32, with float64 float64.
enum class Number { float32, float64, bfloat16, float16 };

/// Rows after each other on the GPU, possibly read as its transpose.
struct MatrixOnGpu {
    void* data;
    std::int64_t rows;
    std::int64_t columns;
    bool transposed = false;  ///< `data` holds the columns x rows matrix whose transpose this is
};

/// What is done to each row of a product.
enum class Finish { nothing, add_bias, add_bias_relu };

/// The library for matrix products, and memory that it works with: one for a stream.
class ProductLibrary {
  public:
    ProductLibrary();
    ~ProductLibrary();
    ProductLibrary(const ProductLibrary&) = delete;
    ProductLibrary& operator=(const ProductLibrary&) = delete;

    struct Content;
    Content& content() const { return *content_; }

  private:
    std::unique_ptr<Content> content_;
};

/// out = a b, prepared once.
class MatrixProduct {
  public:
    /// @param bias as many as out has columns, of out's type; with Finish::nothing not read
    MatrixProduct(ProductLibrary& library, MatrixOnGpu a, MatrixOnGpu b, MatrixOnGpu out, Number number,
                  Finish finish = Finish::nothing, const void* bias = nullptr);
    ~MatrixProduct();
    MatrixProduct(MatrixProduct&&) noexcept;
    MatrixProduct& operator=(MatrixProduct&&) noexcept;

    void run(const Stream& stream) const;

  private:
    struct Content;
    std::unique_ptr<Content> content_;
};

}  // namespace dtrain::gpu
