// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/operators/image_position.hpp"
#include "kernels/convolution_shape.hpp"

namespace dtrain::gpu {
namespace {

using kernels::Sliding;
using kernels::SlidingWindow;

/// Positions on an axis within the window of a result: [begin, end).
struct Seen {
    std::int64_t begin;
    std::int64_t end;
};

ON_DEVICE Seen seen_by(const Sliding& axis, std::int64_t result) {
    const std::int64_t begin = result * axis.stride - axis.padding;
    const std::int64_t end = begin + axis.window;
    return {begin < 0 ? 0 : begin, end < axis.in ? end : axis.in};
}

/// The results whose windows contain a position on an axis: [begin, end).
ON_DEVICE Seen results_of(const Sliding& axis, std::int64_t at) {
    const std::int64_t past = at + axis.padding - axis.window;  // last start of a window that ends before it
    const std::int64_t begin = past < 0 ? 0 : past / axis.stride + 1;
    const std::int64_t end = (at + axis.padding) / axis.stride + 1;
    return {begin, end < axis.out ? end : axis.out};
}

/// Calls function(row, column) for all positions within both ranges, in order.
template <class Function>
ON_DEVICE void for_each_position(const Seen& rows, const Seen& columns, const Function& function) {
    for (std::int64_t row = rows.begin; row < rows.end; ++row)
        for (std::int64_t column = columns.begin; column < columns.end; ++column) function(row, column);
}

/// The first of the largest elements of a plane within a result's window.
template <class Real>
ON_DEVICE std::int64_t largest(const SlidingWindow& w, const Real* plane, std::int64_t y, std::int64_t x) {
    const auto rows = seen_by(w.y, y);
    const auto columns = seen_by(w.x, x);
    std::int64_t best = rows.begin * w.x.in + columns.begin;
    for_each_position(rows, columns, [&](std::int64_t row, std::int64_t column) {
        if (plane[row * w.x.in + column] > plane[best]) best = row * w.x.in + column;
    });
    return best;
}

template <class Real>
struct MaxPool {
    SlidingWindow w;
    const Real* in;
    Real* out;

    ON_DEVICE void operator()(std::size_t i) const {
        const auto at = plane_position(i, w.y.out, w.x.out);
        const Real* plane = in + at.plane * w.y.in * w.x.in;
        out[i] = plane[largest(w, plane, at.y, at.x)];
    }
};

/// Each element finds the results for which it is the maximum.
template <class Real>
struct MaxPoolGradient {
    SlidingWindow w;
    const Real* in;
    const Real* dout;
    Real* din;

    ON_DEVICE void operator()(std::size_t i) const {
        const auto at = plane_position(i, w.y.in, w.x.in);
        const Real* plane = in + at.plane * w.y.in * w.x.in;
        const Real* dplane = dout + at.plane * w.y.out * w.x.out;
        Real sum = 0;
        for_each_position(results_of(w.y, at.y), results_of(w.x, at.x), [&](std::int64_t y, std::int64_t x) {
            if (largest(w, plane, y, x) == at.y * w.x.in + at.x) sum += dplane[y * w.x.out + x];
        });
        din[i] = sum;
    }
};

template <class Real>
ON_DEVICE Real seen_elements(const SlidingWindow& w, std::int64_t y, std::int64_t x) {
    const auto rows = seen_by(w.y, y);
    const auto columns = seen_by(w.x, x);
    return static_cast<Real>((rows.end - rows.begin) * (columns.end - columns.begin));
}

template <class Real>
struct AveragePool {
    SlidingWindow w;
    const Real* in;
    Real* out;

    ON_DEVICE void operator()(std::size_t i) const {
        const auto at = plane_position(i, w.y.out, w.x.out);
        const Real* plane = in + at.plane * w.y.in * w.x.in;
        Real sum = 0;
        for_each_position(seen_by(w.y, at.y), seen_by(w.x, at.x), [&](std::int64_t row, std::int64_t column) {
            sum += plane[row * w.x.in + column];
        });
        out[i] = sum / seen_elements<Real>(w, at.y, at.x);
    }
};

template <class Real>
struct AveragePoolGradient {
    SlidingWindow w;
    const Real* dout;
    Real* din;

    ON_DEVICE void operator()(std::size_t i) const {
        const auto at = plane_position(i, w.y.in, w.x.in);
        const Real* dplane = dout + at.plane * w.y.out * w.x.out;
        Real sum = 0;
        for_each_position(results_of(w.y, at.y), results_of(w.x, at.x), [&](std::int64_t y, std::int64_t x) {
            sum += dplane[y * w.x.out + x] / seen_elements<Real>(w, y, x);
        });
        din[i] = sum;
    }
};

SlidingWindow window_of(const KernelArguments& arguments, const TensorView& in, const TensorView& out) {
    return kernels::sliding_window(arguments, in.shape, out.shape, arguments.wholes("window"));
}

template <class Real, template <class> class Pool>
std::unique_ptr<Kernel> make_pool(KernelContext& context, const KernelArguments& arguments) {
    const auto out = arguments.out<Real>("out");
    return kernel_for_each(context, out.size(),
                           Pool<Real>{window_of(arguments, arguments.input("x"), arguments.output("out")),
                                      arguments.in<Real>("x").data(), out.data()});
}

template <class Real>
std::unique_ptr<Kernel> make_max_pool_grad(KernelContext& context, const KernelArguments& arguments) {
    const auto dx = arguments.out<Real>("x@grad");
    return kernel_for_each(
        context, dx.size(),
        MaxPoolGradient<Real>{window_of(arguments, arguments.input("x"), arguments.input("out@grad")),
                              arguments.in<Real>("x").data(), arguments.in<Real>("out@grad").data(),
                              dx.data()});
}

template <class Real>
std::unique_ptr<Kernel> make_average_pool_grad(KernelContext& context, const KernelArguments& arguments) {
    const auto dx = arguments.out<Real>("x@grad");
    return kernel_for_each(
        context, dx.size(),
        AveragePoolGradient<Real>{window_of(arguments, arguments.input("x"), arguments.input("out@grad")),
                                  arguments.in<Real>("out@grad").data(), dx.data()});
}

}  // namespace

Entries pooling_kernels() {
    return {
        {"average_pool2d", by_type<make_pool<float, AveragePool>, make_pool<double, AveragePool>>},
        {"average_pool2d_grad", by_type<make_average_pool_grad<float>, make_average_pool_grad<double>>},
        {"max_pool2d", by_type<make_pool<float, MaxPool>, make_pool<double, MaxPool>>},
        {"max_pool2d_grad", by_type<make_max_pool_grad<float>, make_max_pool_grad<double>>},
    };
}

}  // namespace dtrain::gpu
