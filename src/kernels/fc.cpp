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

auto loop_of(const std::string& activation) {
    if (activation == "relu") return loops::add_bias_relu;
    if (activation == "tanh") return loops::add_bias_tanh;
    if (activation == "sigmoid") return loops::add_bias_sigmoid;
    if (activation.empty()) return loops::add_bias;
    throw Error("there is no activation '" + activation + "'");
}

}  // namespace

std::unique_ptr<Kernel> make_fc(const KernelArguments& arguments) {
    return kernel_of([product = MatrixProduct(matrix(arguments.input("x")), matrix(arguments.input("weight")),
                                              matrix(arguments.output("out"))),
                      bias = arguments.in("bias"), out = arguments.out("out"),
                      add_bias = loop_of(arguments.text("activation"))]() mutable {
        product.run();
        add_bias(bias.data(), out.data(), out.size() / bias.size(), bias.size());
    });
}

std::unique_ptr<Kernel> make_fc_grad_weight(const KernelArguments& arguments) {
    const auto& dout = arguments.input("out@grad");
    return kernel_of([product = MatrixProduct(transposed(arguments.input("x")), matrix(dout),
                                              matrix(arguments.output("weight@grad"))),
                      dy = arguments.in("out@grad"), dbias = arguments.out("bias@grad")]() mutable {
        product.run();
        loops::column_sum(dy.data(), dbias.data(), dy.size() / dbias.size(), dbias.size());
    });
}

std::unique_ptr<Kernel> make_fc_grad_input(const KernelArguments& arguments) {
    return kernel_of(
        [product = MatrixProduct(matrix(arguments.input("out@grad")), transposed(arguments.input("weight")),
                                 matrix(arguments.output("x@grad")))]() mutable { product.run(); });
}

}  // namespace dtrain::kernels
