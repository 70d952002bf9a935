// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain::benchmarks {

/// The two models with which the peers were measured, and a deep one with gradients in many steps.
struct MlpSizes {
    std::int64_t batch;  ///< per rank
    std::int64_t features;
    std::vector<std::int64_t> hidden;
    std::int64_t classes;
    std::string activation;
};

inline MlpSizes mlp_sizes(std::string_view name) {
    if (name == "small") return {64, 784, {128, 128}, 10, "tanh"};
    if (name == "big") return {256, 784, {1024, 1024}, 10, "relu"};
    if (name == "deep") return {256, 784, {768, 768, 768, 768, 768, 768}, 10, "relu"};
    throw std::invalid_argument("the model is 'small', 'big' or 'deep', not '" + std::string(name) + "'");
}

}  // namespace dtrain::benchmarks
