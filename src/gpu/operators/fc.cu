// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <type_traits>

#include "gpu/matrix_product.hpp"
#include "gpu/operators/bfloat16.hpp"
#include "gpu/operators/column_sums.hpp"
#include "gpu/operators/float16.hpp"
#include "gpu/operators/weight_product.hpp"
#include "kernels/functors/functions.hpp"

namespace dtrain::gpu {
namespace {

MatrixOnGpu matrix(const TensorView& tensor) {
    return {tensor.data, tensor.shape[0], tensor.shape[1]};
}

MatrixOnGpu transposed(const TensorView& tensor) {
    return {tensor.data, tensor.shape[1], tensor.shape[0], true};
}

std::size_t size_of(const MatrixOnGpu& matrix) {
    return static_cast<std::size_t>(matrix.rows * matrix.columns);
}

/// Rounds both factors of a product.
struct Round {
    const float* a;
    const float* b;
    std::size_t count_of_a;
    std::uint16_t* rounded_a;
    std::uint16_t* rounded_b;
    bool is_to_float16;  // otherwise to bfloat16

    ON_DEVICE void operator()(std::size_t i) const {
        if (i < count_of_a)
            rounded_a[i] = bits(a[i]);
        else
            rounded_b[i - count_of_a] = bits(b[i - count_of_a]);
    }

    ON_DEVICE std::uint16_t bits(float value) const {
        return is_to_float16 ? float16_bits(value) : bfloat16_bits(value);
    }
};

DataType factors_of(const KernelArguments& arguments) {
    if (arguments.real_type() == DataType::float64) return DataType::float64;
    switch (arguments.products) {
        case ComputeType::float32:
            return DataType::float32;
        case ComputeType::bfloat16:
            return DataType::bfloat16;
        case ComputeType::float16:
            return DataType::float16;
    }
    throw Error("there are no such products");
}

/// out = a b; the factors are first rounded if the program requires it.
class Product {
  public:
    Product(KernelContext& context, const KernelArguments& arguments, MatrixOnGpu a, MatrixOnGpu b,
            MatrixOnGpu out, Finish finish = Finish::nothing, const void* bias = nullptr)
        : type_(factors_of(arguments)),
          product_(context.products, rounded(a, rounded_a_), rounded(b, rounded_b_), out, type_, finish,
                   bias),
          round_{static_cast<const float*>(a.data),
                 static_cast<const float*>(b.data),
                 size_of(a),
                 reinterpret_cast<std::uint16_t*>(rounded_a_.get()),
                 reinterpret_cast<std::uint16_t*>(rounded_b_.get()),
                 type_ == DataType::float16},
          count_(size_of(a) + size_of(b)) {}

    void run(const Stream& stream) const {
        if (is_rounded()) for_each(stream, count_, round_);
        product_.run(stream);
    }

  private:
    bool is_rounded() const { return type_ == DataType::bfloat16 || type_ == DataType::float16; }

    /// The factor to multiply: the rounded copy in newly allocated memory, or the factor itself.
    MatrixOnGpu rounded(MatrixOnGpu factor, DeviceMemory& memory) const {
        if (!is_rounded()) return factor;
        memory = allocate(size_of(factor) * sizeof(std::uint16_t));
        factor.data = memory.get();
        return factor;
    }

    DataType type_;
    DeviceMemory rounded_a_;
    DeviceMemory rounded_b_;
    MatrixProduct product_;
    Round round_;
    std::size_t count_;
};

std::unique_ptr<Kernel> kernel_of_product(KernelContext& context, Product product) {
    return kernels::kernel_of(
        [&stream = context.stream, product = std::move(product)] { product.run(stream); });
}

template <class Real, class Function>
struct AddBias {
    const Real* bias;
    Real* y;
    std::size_t columns;
    ON_DEVICE void operator()(std::size_t i) const {
        y[i] = Function::value(y[i] + bias[position_of(i, columns).column]);
    }
};

template <class Real, class Function>
std::unique_ptr<Kernel> make_fc_with_pass(KernelContext& context, const KernelArguments& arguments) {
    const auto bias = arguments.in<Real>("bias");
    const auto out = arguments.out<Real>("out");
    return kernels::kernel_of(
        [&stream = context.stream, size = out.size(),
         product = Product(context, arguments, matrix(arguments.input("x")),
                           matrix(arguments.input("weight")), matrix(arguments.output("out"))),
         pass = AddBias<Real, Function>{bias.data(), out.data(), bias.size()}] {
            product.run(stream);
            for_each(stream, size, pass);
        });
}

std::unique_ptr<Kernel> make_finished_fc(KernelContext& context, const KernelArguments& arguments,
                                         Finish finish) {
    return kernel_of_product(
        context, Product(context, arguments, matrix(arguments.input("x")), matrix(arguments.input("weight")),
                         matrix(arguments.output("out")), finish, arguments.input("bias").data));
}

template <class Function, class Real>
std::unique_ptr<Kernel> make_fc_with(KernelContext& context, const KernelArguments& arguments) {
    if constexpr (std::is_same_v<Real, float>) {  // the library fuses only this type
        if constexpr (std::is_same_v<Function, kernels::NoActivation>)
            return make_finished_fc(context, arguments, Finish::add_bias);
        else if constexpr (std::is_same_v<Function, kernels::Relu>)
            return make_finished_fc(context, arguments, Finish::add_bias_relu);
    }
    return make_fc_with_pass<Real, Function>(context, arguments);
}

template <class Real>
std::unique_ptr<Kernel> make_fc(KernelContext& context, const KernelArguments& arguments) {
    const auto activation = arguments.text("activation");
    Factory make = activation.empty() ? make_fc_with<kernels::NoActivation, Real> : nullptr;
    kernels::Activations::for_each([&]<class Function>(std::type_identity<Function>) {
        if (Function::type == activation) make = make_fc_with<Function, Real>;
    });
    if (make == nullptr) throw Error("there is no activation '" + activation + "'");
    return make(context, arguments);
}

Product weight_product(KernelContext& context, const KernelArguments& arguments) {
    return {context, arguments, transposed(arguments.input("x")), matrix(arguments.input("out@grad")),
            matrix(arguments.output("weight@grad"))};
}

template <class Real>
std::unique_ptr<Kernel> make_fc_grad_weight(KernelContext& context, const KernelArguments& arguments) {
    const auto dy = arguments.in<Real>("out@grad");
    const auto dbias = arguments.out<Real>("bias@grad");
    const auto columns = dbias.size();
    return kernels::kernel_of([&stream = context.stream, product = weight_product(context, arguments),
                               sums = ColumnSums<Real, MatrixTerms<Real>>(
                                   dy.size() / columns, columns, {dy.data(), columns}, dbias.data())] {
        product.run(stream);
        sums.run(stream);
    });
}

std::unique_ptr<Kernel> make_fc_grad_input(KernelContext& context, const KernelArguments& arguments) {
    return kernel_of_product(
        context, Product(context, arguments, matrix(arguments.input("out@grad")),
                         transposed(arguments.input("weight")), matrix(arguments.output("x@grad"))));
}

/// The matrix of an input, or its transpose if the attribute says so.
MatrixOnGpu factor(const KernelArguments& arguments, std::string_view slot, std::string_view attribute) {
    const auto& tensor = arguments.input(slot);
    return arguments.whole(attribute) != 0 ? transposed(tensor) : matrix(tensor);
}

std::unique_ptr<Kernel> make_matmul(KernelContext& context, const KernelArguments& arguments) {
    return kernel_of_product(context,
                             Product(context, arguments, factor(arguments, "x", "transpose_x"),
                                     factor(arguments, "y", "transpose_y"), matrix(arguments.output("out"))));
}

}  // namespace

std::unique_ptr<Kernel> make_weight_product(KernelContext& context, const KernelArguments& arguments) {
    return kernel_of_product(context, weight_product(context, arguments));
}

Entries fc_kernels() {
    return {
        {"fc", by_type<make_fc<float>, make_fc<double>>},
        {"fc_grad_input", make_fc_grad_input},
        {"fc_grad_weight", by_type<make_fc_grad_weight<float>, make_fc_grad_weight<double>>},
        {"matmul", make_matmul},
    };
}

}  // namespace dtrain::gpu
