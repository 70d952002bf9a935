// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <dtrain/nn_images.hpp>

#include "nn/run_function.hpp"
#include "program/layers/filter_initializer.hpp"

namespace dtrain::nn {
namespace {

constexpr std::int64_t largest = 1 << 20;  // limit of the operators' attributes

Shape pair_of(Size2d size) {
    return {size.height, size.width};
}

Size2d checked(const char* layer, const char* what, Size2d size, std::int64_t min) {
    for (const auto each : pair_of(size))
        if (each < min || each > largest)
            throw ProgramError(fmt::format("{}: {} is {}, expected height and width from {} to {}", layer,
                                           what, to_string(pair_of(size)), min, largest),
                               "", "");
    return size;
}

Size2d checked_padding(const char* layer, Size2d padding, Size2d kernel_size) {
    checked(layer, "padding", padding, 0);
    if (padding.height >= kernel_size.height || padding.width >= kernel_size.width)
        throw ProgramError(fmt::format("{}: padding is {}, expected less than kernel_size, {}", layer,
                                       to_string(pair_of(padding)), to_string(pair_of(kernel_size))),
                           "", "");
    return padding;
}

Attributes window_of(Size2d kernel_size, Size2d stride, Size2d padding) {
    return {{"window", pair_of(kernel_size)}, {"stride", pair_of(stride)}, {"padding", pair_of(padding)}};
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, Size2d stride, Size2d padding) {
    return run_one("conv2d", {{"x", x}, {"filter", weight}, {"bias", bias}},
                   {{"stride", pair_of(stride)}, {"padding", pair_of(padding)}});
}

Tensor max_pool2d(const Tensor& x, Size2d kernel_size, Size2d stride, Size2d padding) {
    return run_one("max_pool2d", {{"x", x}}, window_of(kernel_size, stride, padding));
}

Tensor avg_pool2d(const Tensor& x, Size2d kernel_size, Size2d stride, Size2d padding) {
    return run_one("average_pool2d", {{"x", x}}, window_of(kernel_size, stride, padding));
}

Conv2d::Conv2d(std::int64_t in_channels, std::int64_t out_channels, Size2d kernel_size, Size2d stride,
               Size2d padding, const Conv2dOptions& options)
    : stride_(checked("Conv2d", "stride", stride, 1)),
      padding_(checked_padding("Conv2d", padding, checked("Conv2d", "kernel_size", kernel_size, 1))) {
    if (in_channels < 1 || out_channels < 1)
        throw ProgramError(fmt::format("Conv2d: from {} channels to {}, expected at least 1 of each",
                                       in_channels, out_channels),
                           "", "");
    const auto name = options.name.empty() ? unique_name("conv2d") : options.name;
    const Shape filter{out_channels, in_channels, kernel_size.height, kernel_size.width};
    weight_ = add_parameter(name + ".filter", filter, program::filter_initializer(name + ".filter", filter),
                            options.type);
    bias_ = add_parameter(name + ".bias", {out_channels}, {}, options.type);
}

Pool2d::Pool2d(const char* layer, Size2d kernel_size, Size2d stride, Size2d padding)
    : kernel_size_(checked(layer, "kernel_size", kernel_size, 1)),
      stride_(checked(layer, "stride", stride, 1)),
      padding_(checked_padding(layer, padding, kernel_size)) {}

}  // namespace dtrain::nn
