// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/matrix_product.hpp"

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include <dtrain/error.hpp>
#include <dtrain/half.hpp>

#include "gpu/processor/launch.hpp"

namespace dtrain::gpu {
namespace {

/// The elements row by row, as the numbers that are multiplied.
template <class Factor, class Real>
std::vector<Real> by_rows(const MatrixOnGpu& matrix) {
    const auto* data = static_cast<const Factor*>(matrix.data);
    std::vector<Real> elements;
    elements.reserve(static_cast<std::size_t>(matrix.rows * matrix.columns));
    for (std::int64_t row = 0; row < matrix.rows; ++row)
        for (std::int64_t column = 0; column < matrix.columns; ++column)
            elements.push_back(static_cast<Real>(matrix.transposed ? data[column * matrix.rows + row]
                                                                   : data[row * matrix.columns + column]));
    return elements;
}

/// Whole rows at a time, which the compiler makes vector instructions of. Each element is the sum in the
/// order of a's columns.
template <class Factor>
void multiply(const MatrixOnGpu& a, const MatrixOnGpu& b, const MatrixOnGpu& out, Finish finish,
              const void* bias) {
    using Real = std::conditional_t<std::is_same_v<Factor, double>, double, float>;
    const auto left = by_rows<Factor, Real>(a), right = by_rows<Factor, Real>(b);
    std::vector<Real> sums(static_cast<std::size_t>(out.columns));
    for (std::int64_t row = 0; row < out.rows; ++row) {
        std::ranges::fill(sums, Real(0));
        for (std::int64_t i = 0; i < a.columns; ++i) {
            const Real factor = left[static_cast<std::size_t>(row * a.columns + i)];
            const Real* factors = right.data() + i * b.columns;
            for (std::size_t column = 0; column < sums.size(); ++column)
                sums[column] += factor * factors[column];
        }
        const auto* added = static_cast<const Real*>(bias);
        auto* results = static_cast<Real*>(out.data) + row * out.columns;
        for (std::size_t column = 0; column < sums.size(); ++column) {
            const Real sum = finish == Finish::nothing ? sums[column] : sums[column] + added[column];
            results[column] = finish == Finish::add_bias_relu ? std::max(sum, Real(0)) : sum;
        }
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
