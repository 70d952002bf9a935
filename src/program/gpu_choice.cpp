// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/gpu_choice.hpp"

#include <dtrain/error.hpp>

#include "comm/rank_gpu.hpp"

namespace dtrain::program {
namespace {

bool there_is(int number) {
    try {
        kernels::open_gpu(number);
    } catch (const UsageError&) {
        return false;
    }
    return true;
}

}  // namespace

Device device_to_use(const std::optional<Device>& asked, const Environment& environment) {
    if (asked) return *asked;
    const auto said = environment.get_or("DTRAIN_DEVICE", "");
    return said.empty() ? Device::cpu() : device_of(said, "DTRAIN_DEVICE");
}

OpenGpu open_gpu_of_rank(const std::optional<int>& number, const Environment& environment, int node_rank) {
    const auto chosen = number ? *number : comm::gpu_of_rank(environment, node_rank).number;
    try {
        return {kernels::open_gpu(chosen), chosen};
    } catch (const UsageError&) {
        // Ranks that nobody gave a GPU share the only one.
        const bool may_share = !number && environment.get_or("FLAGS_selected_gpus", "").empty();
        if (!may_share || chosen == 0 || there_is(1)) throw;
    }
    return {kernels::open_gpu(0), 0};
}

}  // namespace dtrain::program
