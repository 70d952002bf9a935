// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/device/cpu_device.hpp"

#include <utility>

#include <dtrain/shared_buffer.hpp>

#include "program/exchange/host_sums.hpp"
#include "program/passes/aligned_memory.hpp"
#include "program/state/state_access.hpp"

namespace dtrain::program {

ComputeDevice::Memory CpuDevice::allocate(std::size_t bytes) {
    auto memory = make_memory(bytes);
    const auto free = memory.get_deleter();
    return {memory.release(), free};
}

ComputeDevice::Memory CpuDevice::allocate_exchanged(std::size_t bytes) {
    if (communicator_.size() == 1) return allocate(bytes);
    const auto reachable = std::make_shared<SharedBuffer>(communicator_.allocate(bytes));
    return {reachable, reachable->bytes().data()};
}

std::unique_ptr<GradientSums> CpuDevice::make_gradient_sums(std::span<float> gradients, std::size_t slots) {
    return std::make_unique<HostSums>(gradients, slots);
}

std::function<void()> CpuDevice::make_average(const VariableNames& variables) {
    return [segments = segments_of(StateAccess::on_host(state_), variables), communicator = communicator_] {
        average(segments, communicator);
    };
}

// Another executor may use the state on a GPU.
void CpuDevice::begin_step(const StepUses& uses) {
    auto* const elsewhere = StateAccess::on_gpu(state_);
    if (elsewhere == nullptr) return;
    if (uses.writes_state)
        elsewhere->write_on_host();
    else
        elsewhere->read_on_host();
}

TensorView CpuDevice::fetched(const Variable& variable, const TensorView& device) {
    if (is_persistable(variable.role)) StateAccess::to_read(state_);
    return device;
}

}  // namespace dtrain::program
