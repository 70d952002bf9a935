// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/matrix_product.hpp"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include <dtrain/error.hpp>
#include <dtrain/half.hpp>

#include "gpu/processor/launch.hpp"

namespace dtrain::gpu {
namespace {

template <class Value>
auto at(const MatrixOnGpu& matrix, std::int64_t row, std::int64_t column) {
    const auto* data = static_cast<const Value*>(matrix.data);
    const auto value =
        matrix.transposed ? data[column * matrix.rows + row] : data[row * matrix.columns + column];
    if constexpr (std::is_same_v<Value, double>)
        return value;
    else
        return static_cast<float>(value);
}

template <class Factor>
void multiply(const MatrixOnGpu& a, const MatrixOnGpu& b, const MatrixOnGpu& out, Finish finish,
              const void* bias) {
    using Real = std::conditional_t<std::is_same_v<Factor, double>, double, float>;
    auto* results = static_cast<Real*>(out.data);
    for (std::int64_t row = 0; row < out.rows; ++row)
        for (std::int64_t column = 0; column < out.columns; ++column) {
            Real sum = 0;
            for (std::int64_t i = 0; i < a.columns; ++i)
                sum += at<Factor>(a, row, i) * at<Factor>(b, i, column);
            if (finish != Finish::nothing) sum += static_cast<const Real*>(bias)[column];
            results[row * out.columns + column] =
                finish == Finish::add_bias_relu ? std::max(sum, Real(0)) : sum;
        }
}

auto function_of(DataType type) {
    switch (type) {
        case DataType::float32:
            return multiply<float>;
        case DataType::float64:
            return multiply<double>;
        case DataType::bfloat16:
            return multiply<bfloat16>;
        case DataType::float16:
            return multiply<float16>;
        default:
            break;
    }
    throw DataTypeError("a matrix product", type, "float32, float64, bfloat16 or float16");
}

}  // namespace

struct ProductLibrary::Content {};
ProductLibrary::ProductLibrary() : content_(std::make_unique<Content>()) {}
ProductLibrary::~ProductLibrary() = default;

struct MatrixProduct::Content {
    std::function<void()> run;
};

MatrixProduct::MatrixProduct(ProductLibrary& /*none*/, MatrixOnGpu a, MatrixOnGpu b, MatrixOnGpu out,
                             DataType type, Finish finish, const void* bias) {
    if (type == DataType::float64 && finish != Finish::nothing)
        throw Error("cuBLAS finishes no products of float64");
    if (a.columns != b.rows || a.rows != out.rows || b.columns != out.columns || out.transposed)
        throw Error("these matrices have no product");
    content_ = std::make_unique<Content>(
        Content{[=, multiply = function_of(type)] { multiply(a, b, out, finish, bias); }});
}

MatrixProduct::~MatrixProduct() = default;
MatrixProduct::MatrixProduct(MatrixProduct&&) noexcept = default;
MatrixProduct& MatrixProduct::operator=(MatrixProduct&&) noexcept = default;

void MatrixProduct::run(const Stream& stream) const {
    give(stream, "MatrixProduct", content_->run);
}

}  // namespace dtrain::gpu
