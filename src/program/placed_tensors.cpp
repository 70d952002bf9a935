// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "program/placed_tensors.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "program/exchanges.hpp"

namespace dtrain::program {

PlacedTensors::PlacedTensors(const Program& program, const State& state, const Communicator& communicator,
                             const MemoryPlanOptions& options)
    : plan_(plan_memory(program, options)), memory_(make_memory(plan_.bytes - plan_.exchanged)) {
    place_state(program, state);
    if (communicator.size() > 1 && std::ranges::any_of(program.operators(), is_communication))
        reachable_ = communicator.allocate(plan_.exchanged);
    else
        gradients_ = make_memory(plan_.exchanged);
    for (const auto& [name, range] : plan_.places) {
        const auto& variable = program.variable(name);
        tensors_.emplace(name, TensorView{place_of(range.begin), variable.shape, variable.type});
    }
}

void PlacedTensors::place_state(const Program& program, const State& state) {
    for (const auto& variable : program.variables()) {
        if (!is_persistable(variable.role)) continue;
        const auto* tensor = state.find(variable.name);
        if (tensor == nullptr)
            throw ProgramError(
                fmt::format("the state has no {} '{}'", to_string(variable.role), variable.name), "",
                variable.name);
        if (tensor->view.shape != variable.shape || tensor->view.type != variable.type)
            throw ProgramError(
                fmt::format("{} '{}' is {} {} in the state, expected {} {}", to_string(variable.role),
                            variable.name, to_string(tensor->view.type), to_string(tensor->view.shape),
                            to_string(variable.type), to_string(variable.shape)),
                "", variable.name);
        tensors_.emplace(variable.name, tensor->view);
    }
}

std::byte* PlacedTensors::place_of(std::size_t offset) const {
    if (offset >= plan_.exchanged) return memory_.get() + (offset - plan_.exchanged);
    return (gradients_ ? gradients_.get() : reachable_.bytes().data()) + offset;
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
    return {reinterpret_cast<float*>(place_of(0)), plan_.exchanged / sizeof(float)};
}

std::span<float> PlacedTensors::bucket(std::size_t number) const {
    const auto& range = plan_.buckets[number];
    return {reinterpret_cast<float*>(place_of(range.begin)), (range.end - range.begin) / sizeof(float)};
}

}  // namespace dtrain::program
