// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/loops.hpp"
#include "kernels/matrix_product.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

Matrix matrix(const TensorView& tensor) {
    return {static_cast<float*>(tensor.data), tensor.shape[0], tensor.shape[1]};
}

Matrix transposed(const TensorView& tensor) {
    return {static_cast<float*>(tensor.data), tensor.shape[1], tensor.shape[0], true};
}

}  // namespace

std::unique_ptr<Kernel> make_fc(const KernelArguments& arguments) {
    return kernel_of(
        [product = MatrixProduct(matrix(arguments.input("x")), matrix(arguments.input("weight")),
                                 arguments.input("bias").as<float>().data(), matrix(arguments.output("out")),
                                 arguments.text("activation"))]() mutable { product.run(); });
}

std::unique_ptr<Kernel> make_fc_grad_weight(const KernelArguments& arguments) {
    const auto& dout = arguments.input("out@grad");
    return kernel_of([product = MatrixProduct(transposed(arguments.input("x")), matrix(dout), nullptr,
                                              matrix(arguments.output("weight@grad"))),
                      dy = arguments.in("out@grad"), dbias = arguments.out("bias@grad")]() mutable {
        product.run();
        loops::column_sum(dy.data(), dbias.data(), dy.size() / dbias.size(), dbias.size());
    });
}

std::unique_ptr<Kernel> make_fc_grad_input(const KernelArguments& arguments) {
    return kernel_of(
        [product = MatrixProduct(matrix(arguments.input("out@grad")), transposed(arguments.input("weight")),
                                 nullptr, matrix(arguments.output("x@grad")))]() mutable { product.run(); });
}

}  // namespace dtrain::kernels
