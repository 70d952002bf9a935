// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/kernel.hpp"

namespace dtrain::kernels {

/// One axis of a window that slides over images.
struct Sliding {
    std::int64_t in;
    std::int64_t window;
    std::int64_t stride;
    std::int64_t padding;
    std::int64_t out;

    /// Calls function(position in the image, position in the window) for all positions that contribute to one
    /// result.
    template <class Function>
    void for_each(std::int64_t result, const Function& function) const {
        for (std::int64_t i = 0; i < window; ++i)
            if (const auto at = result * stride - padding + i; at >= 0 && at < in) function(at, i);
    }
};

/// Images are [batch, channels, height, width].
struct SlidingWindow {
    std::int64_t batch;
    std::int64_t in_channels;
    std::int64_t out_channels;
    Sliding y;
    Sliding x;
};

inline SlidingWindow sliding_window(const KernelArguments& arguments, const Shape& in, const Shape& out,
                                    const Shape& window) {
    const auto stride = arguments.wholes("stride");
    const auto padding = arguments.wholes("padding");
    return {in[0],
            in[1],
            out[1],
            {in[2], window[0], stride[0], padding[0], out[2]},
            {in[3], window[1], stride[1], padding[1], out[3]}};
}

/// The same for a convolution: its filter is [out channels, in channels, height, width].
inline SlidingWindow convolution_window(const KernelArguments& arguments, const TensorView& in,
                                        const TensorView& filter, const TensorView& out) {
    return sliding_window(arguments, in.shape, out.shape, {filter.shape[2], filter.shape[3]});
}

}  // namespace dtrain::kernels
