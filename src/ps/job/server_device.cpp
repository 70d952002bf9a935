// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/job/server_device.hpp"

#include <fmt/format.h>

#include "base/host.hpp"
#include "program/device/check_gpu.hpp"
#include "program/device/gpu_choice.hpp"

namespace dtrain::ps {

std::string how_to_give_gpus(const Environment& environment) {
    const bool is_kept_off = environment.get_or("TRAINING_ROLE", "") == "PSERVER" &&
                             environment.has("CUDA_VISIBLE_DEVICES") &&
                             environment.get_or("CUDA_VISIBLE_DEVICES", "").empty();
    return is_kept_off
               ? "; dtrain-launch shows GPUs to workers alone, and to servers with --server_device gpu"
               : "";
}

Device server_device(const ServerPlan& planned, const ServerRanks& ranks, const Environment& environment) {
    if (!planned.device.is_gpu()) return planned.device;
    try {
        const auto [gpu, number] =
            program::open_gpu_of_rank(planned.device.number, environment, ranks.peers().node_rank());
        program::check_gpu_has_all_of(planned.program, *gpu);
        return Device::gpu(number);
    } catch (const UsageError& refused) {
        throw UsageError(fmt::format("parameter server {} on {}: {}{}", ranks.number(), host_name(),
                                     refused.what(), how_to_give_gpus(environment)));
    }
}

}  // namespace dtrain::ps
