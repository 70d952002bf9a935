// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/device/compute_device.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "comm/nccl/sums_by_nccl.hpp"
#include "program/device/check_gpu.hpp"
#include "program/device/cpu_device.hpp"
#include "program/device/gpu_choice.hpp"
#include "program/device/gpu_device.hpp"
#include "program/ir/exchanges.hpp"
#include "program/state/state_access.hpp"

namespace dtrain::program {
namespace {

StateOnGpu& state_on_gpu(const State& state, const std::optional<int>& number, const Environment& environment,
                         int node_rank) {
    auto* const device = StateAccess::on_gpu(state);
    if (device == nullptr) {
        auto opened = open_gpu_of_rank(number, environment, node_rank);
        return StateAccess::put_on(state, std::move(opened.gpu), opened.number);
    }
    if (number && *number != device->number())
        throw UsageError(
            fmt::format("the state is on GPU {} for another executor, and this one is to compute on GPU {}: "
                        "give it that device, or State::clone()",
                        device->number(), *number));
    return *device;
}

// True for reductions of gradient buckets and of parameters, the only ones done by NCCL.
bool adds_by_nccl(const Program& program) {
    return std::ranges::any_of(program.operators(), [](const Operator& op) {
        return op.type == "allreduce_start" || op.type == average_operator;
    });
}

}  // namespace

void check_computes(const Program& program, const std::optional<Device>& device,
                    const Communicator& communicator) {
    const auto environment = Environment::of_this_process();
    const auto chosen = device_to_use(device, environment);
    if (!chosen.is_gpu()) return;
    check_gpu_has_all_of(program,
                         *open_gpu_of_rank(chosen.number, environment, communicator.node_rank()).gpu);
}

void place(const State& state, const std::optional<Device>& device, const Communicator& communicator) {
    const auto environment = Environment::of_this_process();
    const auto chosen = device_to_use(device, environment, why_not_on_a_gpu(state));
    if (chosen.is_gpu()) state_on_gpu(state, chosen.number, environment, communicator.node_rank());
}

std::unique_ptr<ComputeDevice> make_compute_device(const Program& program, const ExecutorOptions& options,
                                                   const State& state, const Communicator& communicator) {
    const auto environment = Environment::of_this_process();
    const auto device = device_to_use(options.device, environment, why_not_on_a_gpu(program, state));
    const bool adds = communicator.size() > 1 && std::ranges::any_of(program.operators(), is_communication);
    const bool by_nccl = options.nccl && adds && adds_by_nccl(program);
    if (by_nccl) comm::check_all_or_none_compute_on_gpus(device.is_gpu(), communicator);
    if (!device.is_gpu()) return std::make_unique<CpuDevice>(state, communicator);
    check_gpu_has_state(state);
    StateOnGpu* on_gpu = nullptr;
    std::optional<std::string> problem;
    try {
        on_gpu = &state_on_gpu(state, device.number, environment, communicator.node_rank());
    } catch (const UsageError& error) {
        problem = error.what();
    }
    if (adds)
        throw_together<UsageError>(communicator, problem);
    else if (problem)
        throw UsageError(*problem);
    check_gpu_has_all_of(program, *on_gpu->gpu());
    auto ranks =
        by_nccl ? comm::over_nccl(communicator, on_gpu->number(), on_gpu->gpu()->stream()) : communicator;
    return std::make_unique<GpuDevice>(*on_gpu, state, std::move(ranks), by_nccl);
}

}  // namespace dtrain::program
