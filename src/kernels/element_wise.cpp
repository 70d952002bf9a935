// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/loops.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

template <class Real>
std::unique_ptr<Kernel> make_sum(const KernelArguments& arguments) {
    return kernel_of([terms = arguments.inputs_of("x"), out = arguments.out<Real>("out")] {
        std::ranges::copy(terms.front().template as<Real>(), out.begin());
        for (std::size_t i = 1; i < terms.size(); ++i)
            loops::add(static_cast<const Real*>(terms[i].data), out.data(), out.size());
    });
}

template <class Real>
std::unique_ptr<Kernel> make_subtract(const KernelArguments& arguments) {
    return kernel_of(
        [x = arguments.in<Real>("x"), y = arguments.in<Real>("y"), out = arguments.out<Real>("out")] {
            loops::subtract(x.data(), y.data(), out.data(), out.size());
        });
}

template <class Real>
std::unique_ptr<Kernel> make_multiply(const KernelArguments& arguments) {
    return kernel_of(
        [x = arguments.in<Real>("x"), y = arguments.in<Real>("y"), out = arguments.out<Real>("out")] {
            loops::multiply(x.data(), y.data(), out.data(), out.size());
        });
}

template <class Real>
std::unique_ptr<Kernel> make_divide(const KernelArguments& arguments) {
    return kernel_of(
        [x = arguments.in<Real>("x"), y = arguments.in<Real>("y"), out = arguments.out<Real>("out")] {
            loops::divide(x.data(), y.data(), out.data(), out.size());
        });
}

// The gradient with respect to the divisor: -dout out / y
template <class Real>
std::unique_ptr<Kernel> make_divide_grad_y(const KernelArguments& arguments) {
    return kernel_of([y = arguments.in<Real>("y"), out = arguments.in<Real>("out"),
                      dout = arguments.in<Real>("out@grad"), dy = arguments.out<Real>("y@grad")] {
        loops::divisor_grad(y.data(), out.data(), dout.data(), dy.data(), dy.size());
    });
}

template <class Real>
std::unique_ptr<Kernel> make_scale(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in<Real>("x"), out = arguments.out<Real>("out"),
                      scale = static_cast<Real>(arguments.number("scale")),
                      bias = static_cast<Real>(arguments.number("bias"))] {
        loops::scale_and_shift(scale, bias, x.data(), out.data(), out.size());
    });
}

template <class Real>
std::unique_ptr<Kernel> make_square(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in<Real>("x"), out = arguments.out<Real>("out")] {
        loops::multiply(x.data(), x.data(), out.data(), out.size());
    });
}

template <class Real>
std::unique_ptr<Kernel> make_square_grad(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in<Real>("x"), dout = arguments.in<Real>("out@grad"),
                      dx = arguments.out<Real>("x@grad")] {
        loops::square_grad(x.data(), dout.data(), dx.data(), dx.size());
    });
}

template <class Real>
std::unique_ptr<Kernel> make_bce_with_logits(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in<Real>("logits"), label = arguments.in<Real>("label"),
                      out = arguments.out<Real>("out")] {
        loops::bce_with_logits(x.data(), label.data(), out.data(), out.size());
    });
}

template <class Real>
std::unique_ptr<Kernel> make_bce_with_logits_grad(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in<Real>("logits"), label = arguments.in<Real>("label"),
                      dout = arguments.in<Real>("out@grad"), dx = arguments.out<Real>("logits@grad")] {
        loops::bce_with_logits_grad(x.data(), label.data(), dout.data(), dx.data(), dx.size());
    });
}

template <class Real>
std::unique_ptr<Kernel> make_fill(const KernelArguments& arguments) {
    return kernel_of([value = static_cast<Real>(arguments.number("value")),
                      out = arguments.out<Real>("out")] { std::ranges::fill(out, value); });
}

// The gradient of a loss with respect to itself, times the loss scale.
template <class Real>
std::unique_ptr<Kernel> make_loss_gradient(const KernelArguments& arguments) {
    if (!arguments.has_input("scale")) return make_fill<Real>(arguments);
    return kernel_of([value = static_cast<Real>(arguments.number("value")),
                      scale = arguments.in<Real>("scale").data(),
                      out = arguments.out<Real>("out").data()] { *out = value * *scale; });
}

}  // namespace

Entries element_wise_kernels() {
    return {
        {"bce_with_logits", by_type<make_bce_with_logits<float>, make_bce_with_logits<double>>},
        {"bce_with_logits_grad",
         by_type<make_bce_with_logits_grad<float>, make_bce_with_logits_grad<double>>},
        {"divide", by_type<make_divide<float>, make_divide<double>>},
        {"divide_grad_y", by_type<make_divide_grad_y<float>, make_divide_grad_y<double>>},
        {"fill_like", by_type<make_fill<float>, make_fill<double>>},
        {"loss_gradient", by_type<make_loss_gradient<float>, make_loss_gradient<double>>},
        {"multiply", by_type<make_multiply<float>, make_multiply<double>>},
        {"scale", by_type<make_scale<float>, make_scale<double>>},
        {"square", by_type<make_square<float>, make_square<double>>},
        {"square_grad", by_type<make_square_grad<float>, make_square_grad<double>>},
        {"subtract", by_type<make_subtract<float>, make_subtract<double>>},
        {"sum", by_type<make_sum<float>, make_sum<double>>},
    };
}

}  // namespace dtrain::kernels
