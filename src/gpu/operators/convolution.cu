// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/operators/bfloat16.hpp"
#include "gpu/operators/float16.hpp"
#include "gpu/operators/image_position.hpp"
#include "gpu/operators/sums.hpp"
#include "kernels/convolution_shape.hpp"

namespace dtrain::gpu {
namespace {

using kernels::Sliding;
using kernels::SlidingWindow;

/// Rounding of factors before they are multiplied.
struct Exact {
    template <class Real>
    ON_DEVICE static Real of(Real value) {
        return value;
    }
};

struct Bfloat16 {
    ON_DEVICE static float of(float value) { return as_bfloat16(value); }
};

struct Float16 {
    ON_DEVICE static float of(float value) { return as_float16(value); }
};

/// Computes the position in an image under a position in the window; false if it is outside.
ON_DEVICE bool is_seen(const Sliding& axis, std::int64_t result, std::int64_t i, std::int64_t& at) {
    at = result * axis.stride - axis.padding + i;
    return at >= 0 && at < axis.in;
}

/// Computes the result that reads a position in an image through a position in the window; false if there is
/// none.
ON_DEVICE bool sees(const Sliding& axis, std::int64_t at, std::int64_t i, std::int64_t& result) {
    const std::int64_t begin = at + axis.padding - i;
    result = begin / axis.stride;
    return begin >= 0 && begin % axis.stride == 0 && result < axis.out;
}

/// Index of an element of images of this height and width.
ON_DEVICE std::int64_t element(std::int64_t plane, std::int64_t y, std::int64_t x, std::int64_t height,
                               std::int64_t width) {
    return (plane * height + y) * width + x;
}

template <class Real, class Factor>
struct Convolution {
    SlidingWindow w;
    const Real* in;
    const Real* filter;
    const Real* bias;
    Real* out;

    ON_DEVICE void operator()(std::size_t i) const {
        const auto at = image_position(i, w.out_channels, w.y.out, w.x.out);
        Real sum = 0;
        std::int64_t y = 0;
        std::int64_t x = 0;
        for (std::int64_t c = 0; c < w.in_channels; ++c)
            for (std::int64_t fy = 0; fy < w.y.window; ++fy) {
                if (!is_seen(w.y, at.y, fy, y)) continue;
                for (std::int64_t fx = 0; fx < w.x.window; ++fx)
                    if (is_seen(w.x, at.x, fx, x))
                        sum += Factor::of(in[element(at.image * w.in_channels + c, y, x, w.y.in, w.x.in)]) *
                               Factor::of(filter[element(at.channel * w.in_channels + c, fy, fx, w.y.window,
                                                         w.x.window)]);
            }
        out[i] = sum + bias[at.channel];
    }
};

template <class Real, class Factor>
struct InputGradient {
    SlidingWindow w;
    const Real* filter;
    const Real* dout;
    Real* din;

    ON_DEVICE void operator()(std::size_t i) const {
        const auto at = image_position(i, w.in_channels, w.y.in, w.x.in);
        Real sum = 0;
        std::int64_t y = 0;
        std::int64_t x = 0;
        for (std::int64_t fy = 0; fy < w.y.window; ++fy) {
            if (!sees(w.y, at.y, fy, y)) continue;
            for (std::int64_t fx = 0; fx < w.x.window; ++fx) {
                if (!sees(w.x, at.x, fx, x)) continue;
                for (std::int64_t o = 0; o < w.out_channels; ++o)
                    sum +=
                        Factor::of(dout[element(at.image * w.out_channels + o, y, x, w.y.out, w.x.out)]) *
                        Factor::of(
                            filter[element(o * w.in_channels + at.channel, fy, fx, w.y.window, w.x.window)]);
            }
        }
        din[i] = sum;
    }
};

/// The products for one element of the filter, or, without x, those for one element of the bias.
template <class Real, class Factor>
struct FilterTerms {
    const SlidingWindow& w;
    ImagePosition at;  ///< output channel, input channel, and position in the window
    const Real* in;
    const Real* dout;

    ON_DEVICE Real operator()(std::size_t i) const {
        const auto result = image_position(i, 1, w.y.out, w.x.out);
        const Real dy = Factor::of(
            dout[element(result.image * w.out_channels + at.image, result.y, result.x, w.y.out, w.x.out)]);
        if (in == nullptr) return dy;
        std::int64_t y = 0;
        std::int64_t x = 0;
        if (!is_seen(w.y, result.y, at.y, y) || !is_seen(w.x, result.x, at.x, x)) return 0;
        return dy * Factor::of(in[element(result.image * w.in_channels + at.channel, y, x, w.y.in, w.x.in)]);
    }
};

/// One block for each element of the filter, then one for each element of the bias.
template <class Real, class Factor>
struct FilterGradient {
    SlidingWindow w;
    std::size_t filter_size;
    const Real* in;
    const Real* dout;
    Real* dfilter;
    Real* dbias;

    ON_GPU void operator()(const Block& block) const {
        const std::size_t number = block.number();
        const bool is_bias = number >= filter_size;
        const auto at = is_bias ? ImagePosition{static_cast<std::int64_t>(number - filter_size), 0, 0, 0}
                                : image_position(number, w.in_channels, w.y.window, w.x.window);
        const FilterTerms<Real, Factor> terms{w, at, is_bias ? nullptr : in, dout};
        const Real sum = sum_of<Real>(block, terms, 0, static_cast<std::size_t>(w.batch * w.y.out * w.x.out));
        if (block.thread() == 0) (is_bias ? dbias[number - filter_size] : dfilter[number]) = sum;
    }
};

template <class Real, class Factor>
std::unique_ptr<Kernel> make_conv2d(KernelContext& context, const KernelArguments& arguments) {
    const auto out = arguments.out<Real>("out");
    return kernel_for_each(
        context, out.size(),
        Convolution<Real, Factor>{
            kernels::convolution_window(arguments, arguments.input("x"), arguments.input("filter"),
                                        arguments.output("out")),
            arguments.in<Real>("x").data(), arguments.in<Real>("filter").data(),
            arguments.in<Real>("bias").data(), out.data()});
}

template <class Real, class Factor>
std::unique_ptr<Kernel> make_conv2d_grad_input(KernelContext& context, const KernelArguments& arguments) {
    const auto dx = arguments.out<Real>("x@grad");
    return kernel_for_each(
        context, dx.size(),
        InputGradient<Real, Factor>{
            kernels::convolution_window(arguments, arguments.output("x@grad"), arguments.input("filter"),
                                        arguments.input("out@grad")),
            arguments.in<Real>("filter").data(), arguments.in<Real>("out@grad").data(), dx.data()});
}

template <class Real, class Factor>
std::unique_ptr<Kernel> make_conv2d_grad_filter(KernelContext& context, const KernelArguments& arguments) {
    const auto w = kernels::convolution_window(arguments, arguments.input("x"),
                                               arguments.output("filter@grad"), arguments.input("out@grad"));
    const auto dfilter = arguments.out<Real>("filter@grad");
    const auto dbias = arguments.out<Real>("bias@grad");
    return kernel_of_blocks(
        context, dfilter.size() + dbias.size(),
        threads_for(static_cast<std::size_t>(w.batch * w.y.out * w.x.out)),
        FilterGradient<Real, Factor>{w, dfilter.size(), arguments.in<Real>("x").data(),
                                     arguments.in<Real>("out@grad").data(), dfilter.data(), dbias.data()});
}

template <Factory of_float, Factory of_double, Factory of_bfloat16, Factory of_float16>
std::unique_ptr<Kernel> by_numbers(KernelContext& context, const KernelArguments& arguments) {
    const auto make = arguments.real_type() == DataType::float64    ? of_double
                      : arguments.products == ComputeType::bfloat16 ? of_bfloat16
                      : arguments.products == ComputeType::float16  ? of_float16
                                                                    : of_float;
    return make(context, arguments);
}

}  // namespace

Entries convolution_kernels() {
    return {
        {"conv2d", by_numbers<make_conv2d<float, Exact>, make_conv2d<double, Exact>,
                              make_conv2d<float, Bfloat16>, make_conv2d<float, Float16>>},
        {"conv2d_grad_filter",
         by_numbers<make_conv2d_grad_filter<float, Exact>, make_conv2d_grad_filter<double, Exact>,
                    make_conv2d_grad_filter<float, Bfloat16>, make_conv2d_grad_filter<float, Float16>>},
        {"conv2d_grad_input",
         by_numbers<make_conv2d_grad_input<float, Exact>, make_conv2d_grad_input<double, Exact>,
                    make_conv2d_grad_input<float, Bfloat16>, make_conv2d_grad_input<float, Float16>>},
    };
}

}  // namespace dtrain::gpu
