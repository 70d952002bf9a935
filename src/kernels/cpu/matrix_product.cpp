// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/matrix_product.hpp"

#include <utility>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "kernels/cpu/onednn.hpp"

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

// oneDNN 2.6 accepts its own option for such products (fpmath_mode) but ignores it on CPUs.
MatrixProduct::MatrixProduct(Matrix a, Matrix b, Matrix out, ComputeType numbers) try {
    OnednnSequence sequence("a matrix product");
    const auto type = factor_type(numbers);
    const auto result = memory_of(out);
    const auto prepared = prepare<dnnl::matmul>(describe(a, type), describe(b, type), result.get_desc());
    const auto left = sequence.in_layout(memory_of(a), prepared.src_desc());
    const auto right = sequence.in_layout(memory_of(b), prepared.weights_desc());
    sequence.add(dnnl::matmul(prepared), prepared.scratchpad_desc(),
                 {{DNNL_ARG_SRC, left}, {DNNL_ARG_WEIGHTS, right}, {DNNL_ARG_DST, result}});
    run_ = [steps = std::move(sequence)]() mutable { steps.run(); };
} catch (const dnnl::error& error) {
    throw Error(fmt::format("oneDNN cannot prepare a product of matrices {}x{} and {}x{}: {}", a.rows,
                            a.columns, b.rows, b.columns, error.what()));
}

}  // namespace dtrain::kernels

namespace dtrain {

bool has_bfloat16_products() {
    // Each instruction set has a bit more than those that it contains.
    constexpr auto wanted = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & wanted) == wanted;
}

std::string why_no_bfloat16_products() {
    return has_bfloat16_products() ? "" : "the CPU has neither AVX512-BF16 nor AMX";
}

}  // namespace dtrain
