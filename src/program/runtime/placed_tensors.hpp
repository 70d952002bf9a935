// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/executor.hpp>

#include "kernels/kernel.hpp"
#include "program/device/compute_device.hpp"
#include "program/passes/memory_plan.hpp"

namespace dtrain::program {

/// All variables of a program in a device's memory: persistable ones in a State, the rest in memory of this
/// object.
class PlacedTensors {
  public:
    /// Collective if ranks reduce gradients of the program: those are in memory that the device chooses.
    /// @throws ProgramError if the state lacks a variable or has it with another shape or type
    PlacedTensors(const Program& program, ComputeDevice& device, const MemoryPlanOptions& options);

    const TensorView& of(std::string_view name) const { return tensors_.find(name)->second; }
    kernels::KernelArguments arguments_of(const Operator& op) const;

    /// All gradients that ranks reduce, including the zeros between them; and those of each bucket.
    std::span<float> exchanged() const;
    std::vector<std::span<float>> buckets() const;

    std::size_t bytes() const { return plan_.bytes; }
    /// Whether other variables use its memory later in a step.
    bool is_overwritten(std::string_view name) const { return plan_.overwritten.contains(name); }

  private:
    void place_state(const Program& program, const std::vector<StateTensor>& state);
    std::byte* address_of(std::size_t offset) const;
    std::vector<kernels::SlotTensor> bound(const std::vector<Argument>& arguments) const;

    MemoryPlan plan_;
    ComputeDevice::Memory memory_;     // of all variables except the gradients that ranks reduce
    ComputeDevice::Memory gradients_;  // of those gradients
    std::map<std::string, TensorView, std::less<>> tensors_;
};

}  // namespace dtrain::program
