// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/matrix_product.hpp"

#include <array>
#include <omp.h>

#include <fmt/format.h>

#include "kernels/kernel.hpp"

namespace dtrain::kernels {
namespace {

const dnnl::engine& engine() {
    static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
    return cpu;
}

const dnnl::stream& stream() {
    static const dnnl::stream in_order(engine());
    return in_order;
}

dnnl::memory::desc describe(const Matrix& matrix) {
    const auto strides =
        matrix.transposed ? dnnl::memory::dims{1, matrix.rows} : dnnl::memory::dims{matrix.columns, 1};
    return {{matrix.rows, matrix.columns}, dnnl::memory::data_type::f32, strides};
}

}  // namespace

MatrixProduct::MatrixProduct(Matrix a, Matrix b, Matrix out) try {
    dnnl::primitive_attr attributes;
    // Else every run would allocate memory for scratch.
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::matmul::desc description(describe(a), describe(b), describe(out));
    const dnnl::matmul::primitive_desc prepared(description, attributes, engine());
    primitive_ = dnnl::matmul(prepared);
    memories_.emplace_back(describe(a), engine(), a.data);
    memories_.emplace_back(describe(b), engine(), b.data);
    memories_.emplace_back(describe(out), engine(), out.data);
    memories_.emplace_back(prepared.scratchpad_desc(), engine());
    const std::array places{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD};
    for (std::size_t i = 0; i < places.size(); ++i) arguments_.push_back({places[i], memories_[i].get()});
} catch (const dnnl::error& error) {
    throw Error(fmt::format("oneDNN cannot prepare a product of matrices {}x{} and {}x{}: {}", a.rows,
                            a.columns, b.rows, b.columns, error.what()));
}

void MatrixProduct::run() {
    // The C++ call would copy its map of arguments every time.
    const auto status = dnnl_primitive_execute(primitive_.get(), stream().get(),
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
