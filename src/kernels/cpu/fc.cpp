// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/matrix_product.hpp"
#include "kernels/loops/element_loops.hpp"
#include "kernels/loops/loops.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

template <class Real>
MatrixOf<Real> matrix(const TensorView& tensor) {
    return {static_cast<Real*>(tensor.data), tensor.shape[0], tensor.shape[1]};
}

template <class Real>
MatrixOf<Real> transposed(const TensorView& tensor) {
    return {static_cast<Real*>(tensor.data), tensor.shape[1], tensor.shape[0], true};
}

template <class Real>
std::unique_ptr<Kernel> make_fc(const KernelArguments& arguments) {
    return kernel_of(
        [product = Product<Real>(matrix<Real>(arguments.input("x")), matrix<Real>(arguments.input("weight")),
                                 matrix<Real>(arguments.output("out")), arguments.products),
         bias = arguments.in<Real>("bias"), out = arguments.out<Real>("out"),
         add_bias = loops::bias_loop<Real>(arguments.text("activation"))]() mutable {
            product.run();
            add_bias(bias.data(), out.data(), out.size() / bias.size(), bias.size());
        });
}

template <class Real>
std::unique_ptr<Kernel> make_fc_grad_weight(const KernelArguments& arguments) {
    return kernel_of(
        [product =
             Product<Real>(transposed<Real>(arguments.input("x")), matrix<Real>(arguments.input("out@grad")),
                           matrix<Real>(arguments.output("weight@grad")), arguments.products),
         dy = arguments.in<Real>("out@grad"), dbias = arguments.out<Real>("bias@grad")]() mutable {
            product.run();
            loops::column_sum(dy.data(), dbias.data(), dy.size() / dbias.size(), dbias.size());
        });
}

template <class Real>
std::unique_ptr<Kernel> make_fc_grad_input(const KernelArguments& arguments) {
    return kernel_of([product = Product<Real>(matrix<Real>(arguments.input("out@grad")),
                                              transposed<Real>(arguments.input("weight")),
                                              matrix<Real>(arguments.output("x@grad")),
                                              arguments.products)]() mutable { product.run(); });
}

// The matrix of an input, or its transpose if the attribute says so.
template <class Real>
MatrixOf<Real> factor(const KernelArguments& arguments, std::string_view slot, std::string_view attribute) {
    const auto& tensor = arguments.input(slot);
    return arguments.whole(attribute) != 0 ? transposed<Real>(tensor) : matrix<Real>(tensor);
}

template <class Real>
std::unique_ptr<Kernel> make_matmul(const KernelArguments& arguments) {
    return kernel_of([product = Product<Real>(factor<Real>(arguments, "x", "transpose_x"),
                                              factor<Real>(arguments, "y", "transpose_y"),
                                              matrix<Real>(arguments.output("out")),
                                              arguments.products)]() mutable { product.run(); });
}

}  // namespace

Entries fc_kernels() {
    return {
        {"fc", by_type<make_fc<float>, make_fc<double>>},
        {"fc_grad_input", by_type<make_fc_grad_input<float>, make_fc_grad_input<double>>},
        {"fc_grad_weight", by_type<make_fc_grad_weight<float>, make_fc_grad_weight<double>>},
        {"matmul", by_type<make_matmul<float>, make_matmul<double>>},
    };
}

}  // namespace dtrain::kernels
