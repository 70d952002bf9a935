// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "kernels/convolution_shape.hpp"
#include "kernels/operators.hpp"

namespace dtrain::kernels {
namespace {

// Calls function(one channel of one image, index of the result) for every result.
template <class Function>
void for_each_result(const SlidingWindow& w, const Function& function) {
    for (std::int64_t plane = 0; plane < w.batch * w.in_channels; ++plane)
        for (std::int64_t y = 0; y < w.y.out; ++y)
            for (std::int64_t x = 0; x < w.x.out; ++x)
                function(plane * w.y.in * w.x.in, y, x,
                         static_cast<std::size_t>((plane * w.y.out + y) * w.x.out + x));
}

// Calls function(index of the element) for all elements in the window of result (y, x).
template <class Function>
void for_each_seen(const SlidingWindow& w, std::int64_t plane, std::int64_t y, std::int64_t x,
                   const Function& function) {
    w.y.for_each(y, [&](std::int64_t in_y, std::int64_t) {
        w.x.for_each(x, [&](std::int64_t in_x, std::int64_t) {
            function(static_cast<std::size_t>(plane + in_y * w.x.in + in_x));
        });
    });
}

// The first of the largest elements in a result's window.
template <class Real>
std::size_t largest(const SlidingWindow& w, const Real* in, std::int64_t plane, std::int64_t y,
                    std::int64_t x) {
    constexpr auto none = static_cast<std::size_t>(-1);
    std::size_t best = none;
    for_each_seen(w, plane, y, x, [&](std::size_t i) {
        if (best == none || in[i] > in[best]) best = i;
    });
    return best;
}

template <class Real>
Real seen_by(const SlidingWindow& w, std::int64_t y, std::int64_t x) {
    std::int64_t count = 0;
    for_each_seen(w, 0, y, x, [&](std::size_t) { ++count; });
    return static_cast<Real>(count);
}

SlidingWindow window_of(const KernelArguments& arguments, const TensorView& in, const TensorView& out) {
    return sliding_window(arguments, in.shape, out.shape, arguments.wholes("window"));
}

template <class Real>
std::unique_ptr<Kernel> make_max_pool2d(const KernelArguments& arguments) {
    return kernel_of([w = window_of(arguments, arguments.input("x"), arguments.output("out")),
                      in = arguments.in<Real>("x"), out = arguments.out<Real>("out")] {
        for_each_result(w, [&](std::int64_t plane, std::int64_t y, std::int64_t x, std::size_t result) {
            out[result] = in[largest(w, in.data(), plane, y, x)];
        });
    });
}

template <class Real>
std::unique_ptr<Kernel> make_max_pool2d_grad(const KernelArguments& arguments) {
    return kernel_of([w = window_of(arguments, arguments.input("x"), arguments.input("out@grad")),
                      in = arguments.in<Real>("x"), dout = arguments.in<Real>("out@grad"),
                      dx = arguments.out<Real>("x@grad")] {
        std::ranges::fill(dx, Real(0));
        for_each_result(w, [&](std::int64_t plane, std::int64_t y, std::int64_t x, std::size_t result) {
            dx[largest(w, in.data(), plane, y, x)] += dout[result];
        });
    });
}

template <class Real>
std::unique_ptr<Kernel> make_average_pool2d(const KernelArguments& arguments) {
    return kernel_of([w = window_of(arguments, arguments.input("x"), arguments.output("out")),
                      in = arguments.in<Real>("x"), out = arguments.out<Real>("out")] {
        for_each_result(w, [&](std::int64_t plane, std::int64_t y, std::int64_t x, std::size_t result) {
            Real sum = 0;
            for_each_seen(w, plane, y, x, [&](std::size_t i) { sum += in[i]; });
            out[result] = sum / seen_by<Real>(w, y, x);
        });
    });
}

template <class Real>
std::unique_ptr<Kernel> make_average_pool2d_grad(const KernelArguments& arguments) {
    return kernel_of([w = window_of(arguments, arguments.input("x"), arguments.input("out@grad")),
                      dout = arguments.in<Real>("out@grad"), dx = arguments.out<Real>("x@grad")] {
        std::ranges::fill(dx, Real(0));
        for_each_result(w, [&](std::int64_t plane, std::int64_t y, std::int64_t x, std::size_t result) {
            const Real per_input = dout[result] / seen_by<Real>(w, y, x);
            for_each_seen(w, plane, y, x, [&](std::size_t i) { dx[i] += per_input; });
        });
    });
}

}  // namespace

Entries pooling_kernels() {
    return {
        {"average_pool2d", by_type<make_average_pool2d<float>, make_average_pool2d<double>>},
        {"average_pool2d_grad", by_type<make_average_pool2d_grad<float>, make_average_pool2d_grad<double>>},
        {"max_pool2d", by_type<make_max_pool2d<float>, make_max_pool2d<double>>},
        {"max_pool2d_grad", by_type<make_max_pool2d_grad<float>, make_max_pool2d_grad<double>>},
    };
}

}  // namespace dtrain::kernels
