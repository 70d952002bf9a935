// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/plan/devices.hpp"

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "topology/select_gpus.hpp"

namespace dtrain::launch {

using topology::ids_of;
using topology::VisibleGpu;

std::vector<std::vector<VisibleGpu>> deal_devices(const std::vector<VisibleGpu>& devices,
                                                  std::optional<int> processes) {
    const auto count = static_cast<int>(devices.size());
    if (processes && *processes < 1)
        throw UsageError(
            fmt::format("--nproc_per_node {} is no number of processes; it must be at least 1", *processes));
    if (count == 0)
        return std::vector<std::vector<VisibleGpu>>(static_cast<std::size_t>(processes.value_or(1)));
    const int ranks = processes.value_or(count);
    if (count % ranks != 0)
        throw UsageError(
            fmt::format("--nproc_per_node {} does not divide the {} GPU{} {}; each process gets equally "
                        "many, so use {} or choose others with --gpus",
                        ranks, count, count == 1 ? "" : "s", ids_of(devices), count));
    const auto per_rank = count / ranks;
    std::vector<std::vector<VisibleGpu>> dealt;
    for (auto next = devices.begin(); next != devices.end(); next += per_rank)
        dealt.emplace_back(next, next + per_rank);
    return dealt;
}

std::vector<VisibleGpu> first_for_each(const std::vector<VisibleGpu>& visible, std::optional<int> processes) {
    if (!processes) return visible;
    const auto count = static_cast<std::size_t>(*processes);
    if (count > visible.size()) return {};
    return {visible.begin(), visible.begin() + *processes};
}

std::vector<VisibleGpu> first_gpus(const std::string& count, const std::vector<VisibleGpu>& visible) {
    const auto number = parse_int(trimmed(count));
    if (!number || *number < 1)
        throw UsageError(
            fmt::format("--gpus {}: with PADDLE_NUM_TRAINERS set it is a number of GPUs; unset that variable "
                        "to name GPUs",
                        count));
    if (*number > static_cast<int>(visible.size()))
        throw UsageError(
            fmt::format("--gpus {} is a number of GPUs, as PADDLE_NUM_TRAINERS is set, but {} {} "
                        "visible here",
                        *number, visible.size(), visible.size() == 1 ? "is" : "are"));
    return {visible.begin(), visible.begin() + *number};
}

}  // namespace dtrain::launch
