// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/operators/give.hpp"

namespace dtrain::gpu {

/// One channel of one image, and a position in it.
struct PlanePosition {
    std::int64_t plane;
    std::int64_t y;
    std::int64_t x;
};

/// Position of the element with this index.
ON_DEVICE inline PlanePosition plane_position(std::size_t i, std::int64_t height, std::int64_t width) {
    const auto x = position_of(i, static_cast<std::size_t>(width));
    const auto y = position_of(x.row, static_cast<std::size_t>(height));
    return {static_cast<std::int64_t>(y.row), static_cast<std::int64_t>(y.column),
            static_cast<std::int64_t>(x.column)};
}

/// The same, with the indices of the image and the channel.
struct ImagePosition {
    std::int64_t image;
    std::int64_t channel;
    std::int64_t y;
    std::int64_t x;
};

ON_DEVICE inline ImagePosition image_position(std::size_t i, std::int64_t channels, std::int64_t height,
                                              std::int64_t width) {
    const auto at = plane_position(i, height, width);
    const auto channel = position_of(static_cast<std::size_t>(at.plane), static_cast<std::size_t>(channels));
    return {static_cast<std::int64_t>(channel.row), static_cast<std::int64_t>(channel.column), at.y, at.x};
}

}  // namespace dtrain::gpu
