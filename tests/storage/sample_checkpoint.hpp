// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include <dtrain/checkpoint.hpp>

namespace dtrain::tests {

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;
using Doubles = std::vector<double>;
using ShortIntegers = std::vector<std::int32_t>;

/// A few small tensors, with values and names that are easily lost.
inline Checkpoint sample_checkpoint() {
    Checkpoint out;
    out.epoch = 12;
    out.step = 264;
    out.seed = 0xfedcba9876543210ull;
    out.job = {{"model", "64-128-10 relu"}, {"global batch", "64"}, {"note", ""}};
    out.parameters["fc_0.weight"] = {{2, 3},
                                     Floats{1, -0.0F, 3e-42F, 4, std::numeric_limits<float>::max(), 6}};
    out.parameters["fc_0.bias"] = {{3}, Floats{0.1F, 0.2F, 0.3F}};
    out.parameters["block/deep.weight"] = {{1}, Floats{7}};
    out.optimizer["adam.step"] = {{1}, Integers{264}};
    out.optimizer["fc_0.weight.m"] = {{2, 3}, Floats{0, 0, 0, 1, 2, 3}};
    out.optimizer["auc.positives"] = {{3}, Doubles{1e300, -0.0, 0.1}};
    out.optimizer["count"] = {{2}, ShortIntegers{-2147483647, 5}};
    out.parameters["half"] = {{2, 2},
                              std::vector{float16(-0.0F), float16(6e-8F), float16(65504), float16(0.1F)}};
    out.parameters["brain"] = {{3}, std::vector{bfloat16(1e38F), bfloat16(-1e-40F), bfloat16(0.1F)}};
    out.optimizer["random"] = {{3}, std::vector<std::uint8_t>{0, 128, 255}};
    out.optimizer["int8"] = {{2}, std::vector<std::int8_t>{-128, 127}};
    out.optimizer["int16"] = {{2}, std::vector<std::int16_t>{-32768, 32767}};
    out.optimizer["uint16"] = {{2}, std::vector<std::uint16_t>{0, 65535}};
    out.optimizer["uint32"] = {{2}, std::vector<std::uint32_t>{0, 4294967295U}};
    out.optimizer["uint64"] = {{2}, std::vector<std::uint64_t>{1, 18446744073709551615U}};
    return out;
}

}  // namespace dtrain::tests
