// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include <dtrain/dataset.hpp>

namespace dtrain::nn {

/// Samples of `features` values and `classes` classes, which a network can learn: the class shifts a sine.
inline Dataset digit_like(std::int64_t samples, std::int64_t features = 16, std::int64_t classes = 4) {
    std::vector<float> x;
    std::vector<std::int64_t> labels;
    for (std::int64_t i = 0; i < samples; ++i) {
        labels.push_back(i * 7 % classes);
        for (std::int64_t j = 0; j < features; ++j)
            x.push_back(static_cast<float>(
                std::sin(0.9 * static_cast<double>(j) + 1.7 * static_cast<double>(labels.back())) +
                0.3 * std::cos(static_cast<double>(i * 13 + j * j))));
    }
    return {std::move(x), std::move(labels), features};
}

}  // namespace dtrain::nn
