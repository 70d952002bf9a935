// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/plain_convolution.hpp"

#include <algorithm>

#include "kernels/convolution_shape.hpp"

namespace dtrain::kernels {
namespace {

// Calls function(indices of the elements of input, filter and output) for every product of a convolution.
template <class Function>
void for_each_product(const SlidingWindow& w, const Function& function) {
    for (std::int64_t n = 0; n < w.batch; ++n)
        for (std::int64_t o = 0; o < w.out_channels; ++o)
            for (std::int64_t c = 0; c < w.in_channels; ++c)
                for (std::int64_t y = 0; y < w.y.out; ++y)
                    for (std::int64_t x = 0; x < w.x.out; ++x)
                        w.y.for_each(y, [&](std::int64_t in_y, std::int64_t filter_y) {
                            w.x.for_each(x, [&](std::int64_t in_x, std::int64_t filter_x) {
                                const auto in = ((n * w.in_channels + c) * w.y.in + in_y) * w.x.in + in_x;
                                const auto filter =
                                    ((o * w.in_channels + c) * w.y.window + filter_y) * w.x.window + filter_x;
                                const auto out = ((n * w.out_channels + o) * w.y.out + y) * w.x.out + x;
                                function(static_cast<std::size_t>(in), static_cast<std::size_t>(filter),
                                         static_cast<std::size_t>(out));
                            });
                        });
}

// The output channel of an element of the output.
std::size_t channel_of(std::size_t element, const SlidingWindow& w) {
    return element / static_cast<std::size_t>(w.y.out * w.x.out) % static_cast<std::size_t>(w.out_channels);
}

}  // namespace

template <class Real>
std::unique_ptr<Kernel> make_plain_conv2d(const KernelArguments& arguments) {
    return kernel_of([window = convolution_window(arguments, arguments.input("x"), arguments.input("filter"),
                                                  arguments.output("out")),
                      x = arguments.in<Real>("x"), filter = arguments.in<Real>("filter"),
                      bias = arguments.in<Real>("bias"), out = arguments.out<Real>("out")] {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = bias[channel_of(i, window)];
        for_each_product(window, [&](auto i, auto f, auto o) { out[o] += x[i] * filter[f]; });
    });
}

template <class Real>
std::unique_ptr<Kernel> make_plain_conv2d_grad_input(const KernelArguments& arguments) {
    return kernel_of([window = convolution_window(arguments, arguments.output("x@grad"),
                                                  arguments.input("filter"), arguments.input("out@grad")),
                      dx = arguments.out<Real>("x@grad"), filter = arguments.in<Real>("filter"),
                      dout = arguments.in<Real>("out@grad")] {
        std::ranges::fill(dx, Real(0));
        for_each_product(window, [&](auto i, auto f, auto o) { dx[i] += dout[o] * filter[f]; });
    });
}

template <class Real>
std::unique_ptr<Kernel> make_plain_conv2d_grad_filter(const KernelArguments& arguments) {
    return kernel_of(
        [window = convolution_window(arguments, arguments.input("x"), arguments.output("filter@grad"),
                                     arguments.input("out@grad")),
         x = arguments.in<Real>("x"), dout = arguments.in<Real>("out@grad"),
         dfilter = arguments.out<Real>("filter@grad"), dbias = arguments.out<Real>("bias@grad")] {
            std::ranges::fill(dfilter, Real(0));
            std::ranges::fill(dbias, Real(0));
            for (std::size_t i = 0; i < dout.size(); ++i) dbias[channel_of(i, window)] += dout[i];
            for_each_product(window, [&](auto i, auto f, auto o) { dfilter[f] += dout[o] * x[i]; });
        });
}

template std::unique_ptr<Kernel> make_plain_conv2d<float>(const KernelArguments& arguments);
template std::unique_ptr<Kernel> make_plain_conv2d<double>(const KernelArguments& arguments);
template std::unique_ptr<Kernel> make_plain_conv2d_grad_input<float>(const KernelArguments& arguments);
template std::unique_ptr<Kernel> make_plain_conv2d_grad_input<double>(const KernelArguments& arguments);
template std::unique_ptr<Kernel> make_plain_conv2d_grad_filter<float>(const KernelArguments& arguments);
template std::unique_ptr<Kernel> make_plain_conv2d_grad_filter<double>(const KernelArguments& arguments);

}  // namespace dtrain::kernels
