// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <dtrain/layers.hpp>

#include "program/filter_initializer.hpp"
#include "program/simple_layer.hpp"

namespace dtrain::layers {

std::string conv2d(Program& program, const std::string& x, std::int64_t channels,
                   const Conv2dOptions& options) {
    const auto input = program.variable(x);
    if (input.shape.size() != 4 || !is_real(input.type))
        throw ProgramError(
            fmt::format("layer conv2d: x '{}' is {} {}, expected float32 [batch, channels, height, width]", x,
                        to_string(input.type), to_string(input.shape)),
            "conv2d", x);
    if (channels < 1)
        throw ProgramError(fmt::format("layer conv2d: {} channels, expected at least 1", channels), "conv2d",
                           x);
    if (options.window.size() != 2)
        throw ProgramError(
            fmt::format("layer conv2d: window {}, expected height and width", to_string(options.window)),
            "conv2d", x);
    const auto stem = options.name.empty() ? program.unique_name("conv2d") : options.name;
    const Shape filter{channels, input.shape[1], options.window[0], options.window[1]};
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
                                      {{"stride", options.stride}, {"padding", options.padding}}});
        return stem + ".out";
    });
}

std::string max_pool2d(Program& program, const std::string& x, const Pool2dOptions& options) {
    return simple(program, "max_pool2d", {{"x", x}},
                  {{"window", options.window}, {"stride", options.stride}, {"padding", options.padding}});
}

std::string average_pool2d(Program& program, const std::string& x, const Pool2dOptions& options) {
    return simple(program, "average_pool2d", {{"x", x}},
                  {{"window", options.window}, {"stride", options.stride}, {"padding", options.padding}});
}

}  // namespace dtrain::layers
