// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/device/gpu_choice.hpp"

#include <atomic>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "comm/api/rank_gpu.hpp"
#include "comm/node/node_line.hpp"

namespace dtrain::program {
namespace {

bool gpu_exists(int number) {
    try {
        kernels::open_gpu(number);
    } catch (const UsageError&) {
        return false;
    }
    return true;
}

std::string why_no_local_gpu() try {
    kernels::check_gpus();
    return "";
} catch (const UsageError& error) {
    return error.what();
}

void report_once(const std::string& warning, const Environment& environment) {
    static std::atomic<bool> is_reported = false;
    if (!warning.empty() && !is_reported.exchange(true)) comm::report_once_per_node(warning, environment);
}

}  // namespace

DeviceChoice choose_device(const std::optional<Device>& asked, const Environment& environment,
                           const std::function<std::string()>& why_no_gpu) {
    if (asked) return {*asked, ""};
    if (const auto said = environment.get_or("DTRAIN_DEVICE", ""); !said.empty())
        return {device_of(said, "DTRAIN_DEVICE"), ""};
    const auto given = environment.get_or("FLAGS_selected_gpus", "");
    if (given.empty()) return {Device::cpu(), ""};
    const auto why = why_no_gpu();
    if (why.empty()) return {Device::gpu(), ""};
    return {Device::cpu(),
            fmt::format("this rank was given GPU {} (FLAGS_selected_gpus) and computes on the CPU: {}", given,
                        why)};
}

Device device_to_use(const std::optional<Device>& asked, const Environment& environment,
                     std::string_view needs_cpu) {
    auto [device, warning] = choose_device(
        asked, environment, [&] { return needs_cpu.empty() ? why_no_local_gpu() : std::string(needs_cpu); });
    report_once(warning, environment);
    return device;
}

OpenGpu open_gpu_of_rank(const std::optional<int>& number, const Environment& environment, int node_rank) {
    const auto chosen = number ? *number : comm::gpu_of_rank(environment, node_rank).number;
    try {
        return {kernels::open_gpu(chosen), chosen};
    } catch (const UsageError&) {
        // Ranks to which no GPU was assigned share the only one.
        const bool may_share = !number && environment.get_or("FLAGS_selected_gpus", "").empty();
        if (!may_share || chosen == 0 || gpu_exists(1)) throw;
    }
    return {kernels::open_gpu(0), 0};
}

}  // namespace dtrain::program
