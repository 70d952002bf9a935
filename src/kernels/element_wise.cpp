// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/loops.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

template <auto Loop>
std::unique_ptr<Kernel> make_forward(const KernelArguments& arguments) {
    return kernel_of(
        [x = arguments.in("x"), y = arguments.out("out")] { Loop(x.data(), y.data(), x.size()); });
}

template <auto Loop>
std::unique_ptr<Kernel> make_gradient(const KernelArguments& arguments) {
    return kernel_of([y = arguments.in("out"), dy = arguments.in("out@grad"), dx = arguments.out("x@grad")] {
        Loop(y.data(), dy.data(), dx.data(), dx.size());
    });
}

}  // namespace

std::unique_ptr<Kernel> make_relu(const KernelArguments& arguments) {
    return make_forward<loops::relu>(arguments);
}

std::unique_ptr<Kernel> make_tanh(const KernelArguments& arguments) {
    return make_forward<loops::tanh>(arguments);
}

std::unique_ptr<Kernel> make_sigmoid(const KernelArguments& arguments) {
    return make_forward<loops::sigmoid>(arguments);
}

std::unique_ptr<Kernel> make_relu_grad(const KernelArguments& arguments) {
    return make_gradient<loops::relu_grad>(arguments);
}

std::unique_ptr<Kernel> make_tanh_grad(const KernelArguments& arguments) {
    return make_gradient<loops::tanh_grad>(arguments);
}

std::unique_ptr<Kernel> make_sigmoid_grad(const KernelArguments& arguments) {
    return make_gradient<loops::sigmoid_grad>(arguments);
}

std::unique_ptr<Kernel> make_sum(const KernelArguments& arguments) {
    return kernel_of([terms = arguments.inputs_of("x"), out = arguments.out("out")] {
        std::ranges::copy(terms.front().as<float>(), out.begin());
        for (std::size_t i = 1; i < terms.size(); ++i)
            loops::add(static_cast<const float*>(terms[i].data), out.data(), out.size());
    });
}

std::unique_ptr<Kernel> make_mean(const KernelArguments& arguments) {
    return kernel_of([x = arguments.in("x"), y = arguments.out("out")] {
        y[0] = loops::sum(x.data(), x.size()) / static_cast<float>(x.size());
    });
}

std::unique_ptr<Kernel> make_mean_grad(const KernelArguments& arguments) {
    return kernel_of([dy = arguments.in("out@grad"), dx = arguments.out("x@grad")] {
        std::ranges::fill(dx, dy[0] / static_cast<float>(dx.size()));
    });
}

std::unique_ptr<Kernel> make_fill(const KernelArguments& arguments) {
    return kernel_of([value = static_cast<float>(arguments.number("value")), out = arguments.out("out")] {
        std::ranges::fill(out, value);
    });
}

}  // namespace dtrain::kernels
