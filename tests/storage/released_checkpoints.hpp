// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>

#include <dtrain/checkpoint.hpp>

/// What the files in tests/storage/released were made from: never changed.
namespace dtrain::tests {

inline Checkpoint between_epochs() {
    Checkpoint out;
    out.epoch = 12;
    out.step = 264;
    out.seed = 0xfedcba9876543210ull;
    out.job = {{"model", "64-128-10 relu"}, {"global batch", "64"}, {"note", ""}};
    out.parameters["fc_0.weight"] = {
        {2, 3}, std::vector<float>{1, -0.0F, 3e-42F, 4, std::numeric_limits<float>::max(), 6}};
    out.parameters["fc_0.bias"] = {{3}, std::vector<float>{0.1F, 0.2F, 0.3F}};
    out.optimizer["adam.step"] = {{1}, std::vector<std::int64_t>{264}};
    out.optimizer["auc.positives"] = {{3}, std::vector<double>{1e300, -0.0, 0.1}};
    out.optimizer["count"] = {{2}, std::vector<std::int32_t>{-2147483647, 5}};
    return out;
}

inline Checkpoint within_an_epoch() {
    auto out = between_epochs();
    out.epoch_step = 5;
    out.sums = {{"loss", {0.1, 1e-300}}, {"samples", {320, 256}}};
    return out;
}

}  // namespace dtrain::tests
