// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/matrix_product.hpp"

#include <array>
#include <omp.h>

#include <fmt/format.h>

#include "kernels/kernel.hpp"
#include "kernels/onednn.hpp"

namespace dtrain::kernels {
namespace {

dnnl::memory::desc describe(const Matrix& matrix) {
    const auto strides =
        matrix.transposed ? dnnl::memory::dims{1, matrix.rows} : dnnl::memory::dims{matrix.columns, 1};
    return {{matrix.rows, matrix.columns}, dnnl::memory::data_type::f32, strides};
}

}  // namespace

MatrixProduct::MatrixProduct(Matrix a, Matrix b, Matrix out) try {
    const dnnl::matmul::desc description(describe(a), describe(b), describe(out));
    const dnnl::matmul::primitive_desc prepared(description, onednn_attributes(), onednn_engine());
    primitive_ = dnnl::matmul(prepared);
    memories_.emplace_back(describe(a), onednn_engine(), a.data);
    memories_.emplace_back(describe(b), onednn_engine(), b.data);
    memories_.emplace_back(describe(out), onednn_engine(), out.data);
    memories_.emplace_back(prepared.scratchpad_desc(), onednn_engine());
    const std::array places{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD};
    for (std::size_t i = 0; i < places.size(); ++i) arguments_.push_back({places[i], memories_[i].get()});
} catch (const dnnl::error& error) {
    throw Error(fmt::format("oneDNN cannot prepare a product of matrices {}x{} and {}x{}: {}", a.rows,
                            a.columns, b.rows, b.columns, error.what()));
}

void MatrixProduct::run() {
    // The C++ call would copy its map of arguments every time.
    const auto status = dnnl_primitive_execute(primitive_.get(), onednn_stream().get(),
                                               static_cast<int>(arguments_.size()), arguments_.data());
    if (status != dnnl_success)
        throw Error(
            fmt::format("oneDNN failed with status {} in a matrix product", static_cast<int>(status)));
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
