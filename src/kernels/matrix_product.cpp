// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/matrix_product.hpp"

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

dnnl::post_ops fused(const std::string& activation) {
    dnnl::post_ops operations;
    if (activation == "relu")
        operations.append_eltwise(1.0F, dnnl::algorithm::eltwise_relu, 0.0F, 0.0F);
    else if (activation == "tanh")
        operations.append_eltwise(1.0F, dnnl::algorithm::eltwise_tanh, 0.0F, 0.0F);
    else if (activation == "sigmoid")
        operations.append_eltwise(1.0F, dnnl::algorithm::eltwise_logistic, 0.0F, 0.0F);
    return operations;
}

}  // namespace

MatrixProduct::MatrixProduct(Matrix a, Matrix b, float* bias, Matrix out, const std::string& activation) try {
    const dnnl::memory::desc bias_description({1, out.columns}, dnnl::memory::data_type::f32,
                                              dnnl::memory::format_tag::ab);
    dnnl::primitive_attr attributes;
    attributes.set_post_ops(fused(activation));
    // With memory of our own for scratch, a run allocates nothing.
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const auto description =
        bias == nullptr ? dnnl::matmul::desc(describe(a), describe(b), describe(out))
                        : dnnl::matmul::desc(describe(a), describe(b), bias_description, describe(out));
    const dnnl::matmul::primitive_desc prepared(description, attributes, engine());
    primitive_ = dnnl::matmul(prepared);

    std::vector<int> places{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD};
    memories_.emplace_back(describe(a), engine(), a.data);
    memories_.emplace_back(describe(b), engine(), b.data);
    memories_.emplace_back(describe(out), engine(), out.data);
    memories_.emplace_back(prepared.scratchpad_desc(), engine());
    if (bias != nullptr) {
        places.push_back(DNNL_ARG_BIAS);
        memories_.emplace_back(bias_description, engine(), bias);
    }
    for (std::size_t i = 0; i < places.size(); ++i) arguments_.push_back({places[i], memories_[i].get()});
} catch (const dnnl::error& error) {
    throw Error(fmt::format("oneDNN cannot prepare a product of matrices {}x{} and {}x{}: {}", a.rows,
                            a.columns, b.rows, b.columns, error.what()));
}

void MatrixProduct::run() {
    // The C++ call copies its map of arguments every time; this one allocates nothing.
    const auto status = dnnl_primitive_execute(primitive_.get(), stream().get(),
                                               static_cast<int>(arguments_.size()), arguments_.data());
    if (status != dnnl_success)
        throw Error(
            fmt::format("oneDNN failed with status {} in a matrix product", static_cast<int>(status)));
}

void set_compute_threads(int threads) {
    omp_set_num_threads(threads);
}

}  // namespace dtrain::kernels
