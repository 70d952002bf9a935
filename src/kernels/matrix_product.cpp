// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/matrix_product.hpp"

#include <omp.h>

#include <fmt/format.h>

#include "kernels/kernel.hpp"
#include "kernels/onednn.hpp"

namespace dtrain::kernels {
namespace {

dnnl::memory::desc describe(const Matrix& matrix, dnnl::memory::data_type type) {
    const auto strides =
        matrix.transposed ? dnnl::memory::dims{1, matrix.rows} : dnnl::memory::dims{matrix.columns, 1};
    return {{matrix.rows, matrix.columns}, type, strides};
}

dnnl::memory memory_of(const Matrix& matrix) {
    return OnednnSequence::at(describe(matrix, dnnl::memory::data_type::f32), matrix.data);
}

}  // namespace

// oneDNN 2.6 takes its own switch for such products (fpmath_mode) and ignores it on CPUs.
MatrixProduct::MatrixProduct(Matrix a, Matrix b, Matrix out, ProductNumbers numbers) try {
    const auto type = factor_type(numbers);
    const auto result = memory_of(out);
    const dnnl::matmul::desc description(describe(a, type), describe(b, type), result.get_desc());
    const dnnl::matmul::primitive_desc prepared(description, onednn_attributes(), onednn_engine());
    const auto left = sequence_.in_layout(memory_of(a), prepared.src_desc());
    const auto right = sequence_.in_layout(memory_of(b), prepared.weights_desc());
    sequence_.add(dnnl::matmul(prepared), prepared.scratchpad_desc(),
                  {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}});
} catch (const dnnl::error& error) {
    throw Error(fmt::format("oneDNN cannot prepare a product of matrices {}x{} and {}x{}: {}", a.rows,
                            a.columns, b.rows, b.columns, error.what()));
}

void PlainProduct::run() {
    for (std::int64_t i = 0; i < out_.rows; ++i) {
        for (std::int64_t j = 0; j < out_.columns; ++j) {
            double sum = 0;
            for (std::int64_t k = 0; k < a_.columns; ++k) sum += a_.at(i, k) * b_.at(k, j);
            out_.at(i, j) = sum;
        }
    }
}

void set_compute_threads(int threads) {
    omp_set_num_threads(threads);
}

}  // namespace dtrain::kernels
