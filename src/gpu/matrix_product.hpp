// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include <dtrain/data_type.hpp>

#include "gpu/stream.hpp"

namespace dtrain::gpu {

/// A row-major matrix on the GPU, optionally read as its transpose.
struct MatrixOnGpu {
    void* data;
    std::int64_t rows;
    std::int64_t columns;
    bool transposed = false;  ///< `data` holds the columns x rows matrix whose transpose this is
};

/// What is applied to each row of a product.
enum class Finish { nothing, add_bias, add_bias_relu };

/// The library for matrix products and its workspace: one object per stream.
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
    /// @param type of the factors; sums and results are float32, or float64 for float64
    /// @param bias one element per column of out, of out's type; not read with Finish::nothing
    MatrixProduct(ProductLibrary& library, MatrixOnGpu a, MatrixOnGpu b, MatrixOnGpu out, DataType type,
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
