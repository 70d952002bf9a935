// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/runtime/placed_tensors.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "program/ir/exchanges.hpp"

namespace dtrain::program {

PlacedTensors::PlacedTensors(const Program& program, ComputeDevice& device, const MemoryPlanOptions& options)
    : plan_(plan_memory(program, options)), memory_(device.allocate(plan_.bytes - plan_.exchanged)) {
    place_state(program, device.state_tensors());
    gradients_ = std::ranges::any_of(program.operators(), exchanges_gradients)
                     ? device.allocate_exchanged(plan_.exchanged)
                     : device.allocate(plan_.exchanged);
    std::vector<StateTensor> data;
    for (const auto& [name, range] : plan_.ranges) {
        const auto& variable = program.variable(name);
        const auto& [at, _] =
            tensors_.emplace(name, TensorView{address_of(range.begin), variable.shape, variable.type});
        if (variable.role == Role::data) data.push_back({name, variable.role, at->second});
    }
    device.set_data(std::move(data));
}

void PlacedTensors::place_state(const Program& program, const std::vector<StateTensor>& state) {
    for (const auto& variable : program.variables()) {
        if (!is_persistable(variable.role)) continue;
        const auto tensor = std::ranges::find(state, variable.name, &StateTensor::name);
        if (tensor == state.end())
            throw ProgramError(
                fmt::format("the state has no {} '{}'", dtrain::to_string(variable.role), variable.name), "",
                variable.name);
        if (tensor->view.shape != variable.shape || tensor->view.type != variable.type)
            throw ProgramError(
                fmt::format("{} '{}' is {} {} in the state, expected {} {}", dtrain::to_string(variable.role),
                            variable.name, dtrain::to_string(tensor->view.type),
                            dtrain::to_string(tensor->view.shape), dtrain::to_string(variable.type),
                            dtrain::to_string(variable.shape)),
                "", variable.name);
        tensors_.emplace(variable.name, tensor->view);
    }
}

std::byte* PlacedTensors::address_of(std::size_t offset) const {
    if (offset >= plan_.exchanged) return memory_.get() + (offset - plan_.exchanged);
    return gradients_.get() + offset;
}

std::vector<kernels::SlotTensor> PlacedTensors::bound(const std::vector<Argument>& arguments) const {
    std::vector<kernels::SlotTensor> out;
    for (const auto& argument : arguments) out.push_back({argument.slot, of(argument.variable)});
    return out;
}

kernels::KernelArguments PlacedTensors::arguments_of(const Operator& op) const {
    return {bound(op.inputs), bound(op.outputs), op.attributes};
}

std::span<float> PlacedTensors::exchanged() const {
    if (plan_.exchanged == 0) return {};
    return {reinterpret_cast<float*>(address_of(0)), plan_.exchanged / sizeof(float)};
}

std::vector<std::span<float>> PlacedTensors::buckets() const {
    std::vector<std::span<float>> out;
    for (const auto& [begin, end] : plan_.buckets)
        out.emplace_back(reinterpret_cast<float*>(address_of(begin)), (end - begin) / sizeof(float));
    return out;
}

}  // namespace dtrain::program
