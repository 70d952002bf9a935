// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Tensors are on GPUs, which ranks may share, and gradients go through NCCL.
#include <cstdlib>
#include <optional>
#include <string>

#include "comm/nccl/gpu_of_test_rank.hpp"
#include "nn/eager_device.hpp"
#include "support/precondition.hpp"
#include "way_of_averages.hpp"

namespace dtrain::nn {

const bool averages_by_nccl = true;

namespace {

std::optional<std::string> why_no_gpu() {
    if (tests::visible_gpus() == 0) return "this process sees no GPU";
    ::setenv("DTRAIN_DEVICE", ("gpu:" + std::to_string(tests::gpu_of_test_rank())).c_str(), 1);
    try {
        eager::own_device();
        return std::nullopt;
    } catch (const UsageError& error) {
        return error.what();
    }
}

[[maybe_unused]] const bool is_set = (tests::precondition() = why_no_gpu, true);

}  // namespace
}  // namespace dtrain::nn
