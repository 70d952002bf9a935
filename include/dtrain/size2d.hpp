// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace dtrain {

/// Height and width of a window, a stride or a padding of images; a single number is both: 5 or {3, 5}.
struct Size2d {
    std::int64_t height;  ///< rows
    std::int64_t width;   ///< columns

    /// A square.
    Size2d(std::int64_t both) : height(both), width(both) {}  // NOLINT: one or two numbers, as in PyTorch
    /// This many rows and columns.
    Size2d(std::int64_t rows, std::int64_t columns) : height(rows), width(columns) {}

    /// Compares height and width.
    friend bool operator==(const Size2d&, const Size2d&) = default;
};

}  // namespace dtrain
