// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <dtrain/layers.hpp>

#include "program/layers/filter_initializer.hpp"
#include "program/layers/simple_layer.hpp"

namespace dtrain::layers {

namespace {

Shape pair_of(Size2d size) {
    return {size.height, size.width};
}

Size2d size_of_window(const Var& x, const Shape& window) {
    if (window.size() == 2) return {window[0], window[1]};
    throw ProgramError(fmt::format("layer conv2d: window {}, expected height and width", to_string(window)),
                       "conv2d", x);
}

/// Unchecked: the operator's schema does it.
struct Window {
    Shape kernel_size;
    Shape stride;
    Shape padding;
};

Var conv2d_of(Program& program, const Var& x, std::int64_t channels, const Window& window,
              const std::string& name) {
    const auto input = program.variable(x);
    if (input.shape.size() != 4 || !is_real(input.type))
        throw ProgramError(
            fmt::format("layer conv2d: x '{}' is {} {}, expected float32 [batch, channels, height, width]",
                        x.name(), to_string(input.type), to_string(input.shape)),
            "conv2d", x);
    if (channels < 1)
        throw ProgramError(fmt::format("layer conv2d: {} channels, expected at least 1", channels), "conv2d",
                           x);
    const auto [height, width] = size_of_window(x, window.kernel_size);
    const auto stem = name.empty() ? program.unique_name("conv2d") : name;
    const Shape filter{channels, input.shape[1], height, width};
    const auto initializer = program::filter_initializer(stem + ".filter", filter);
    return extend(program, [&](Program& extended) {
        extended.add({.name = stem + ".filter",
                      .shape = filter,
                      .type = input.type,
                      .role = Role::parameter,
                      .initializer = initializer});
        extended.add(
            {.name = stem + ".bias", .shape = {channels}, .type = input.type, .role = Role::parameter});
        extended.append_with_outputs({"conv2d",
                                      {{"x", x}, {"filter", stem + ".filter"}, {"bias", stem + ".bias"}},
                                      {{"out", stem + ".out"}},
                                      {{"stride", window.stride}, {"padding", window.padding}}});
        return stem + ".out";
    });
}

Var pool(Program& program, const std::string& type, const Var& x, const Window& window) {
    return simple(program, type, {{"x", x}},
                  {{"window", window.kernel_size}, {"stride", window.stride}, {"padding", window.padding}});
}

}  // namespace

Var conv2d(Program& program, const Var& x, std::int64_t channels, Size2d kernel_size, Size2d stride,
           Size2d padding, const std::string& name) {
    return conv2d_of(program, x, channels, {pair_of(kernel_size), pair_of(stride), pair_of(padding)}, name);
}

Var max_pool2d(Program& program, const Var& x, Size2d kernel_size, Size2d stride, Size2d padding) {
    return pool(program, "max_pool2d", x, {pair_of(kernel_size), pair_of(stride), pair_of(padding)});
}

Var max_pool2d(Program& program, const Var& x, Size2d kernel_size) {
    return max_pool2d(program, x, kernel_size, kernel_size);
}

Var avg_pool2d(Program& program, const Var& x, Size2d kernel_size, Size2d stride, Size2d padding) {
    return pool(program, "average_pool2d", x, {pair_of(kernel_size), pair_of(stride), pair_of(padding)});
}

Var avg_pool2d(Program& program, const Var& x, Size2d kernel_size) {
    return avg_pool2d(program, x, kernel_size, kernel_size);
}

Var conv2d(Program& program, const Var& x, std::int64_t channels, const Conv2dOptions& options) {
    return conv2d_of(program, x, channels, {options.window, options.stride, options.padding}, options.name);
}

Var max_pool2d(Program& program, const Var& x, const Pool2dOptions& options) {
    return pool(program, "max_pool2d", x, {options.window, options.stride, options.padding});
}

Var average_pool2d(Program& program, const Var& x, const Pool2dOptions& options) {
    return pool(program, "average_pool2d", x, {options.window, options.stride, options.padding});
}

}  // namespace dtrain::layers
