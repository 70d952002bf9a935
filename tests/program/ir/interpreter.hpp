// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <dtrain/executor.hpp>
#include <dtrain/program.hpp>

#include "base/with_element.hpp"
#include "kernels/kernel.hpp"

namespace dtrain {

/// Runs a program operator by operator as it is written: no passes, memory of its own for every variable, any
/// element type. The simplest thing that an Executor may be compared with.
class Interpreter {
  public:
    Interpreter(const Program& program, State state) : state_(std::move(state)) {
        for (const auto& variable : program.variables()) {
            TensorView view{nullptr, variable.shape, variable.type};
            if (const auto* tensor = is_persistable(variable.role) ? state_.find(variable.name) : nullptr) {
                view.data = tensor->view.data;
            } else {
                memory_.emplace_back(view.size());  // 8 bytes for each element are enough
                view.data = memory_.back().data();
            }
            tensors_.emplace(variable.name, view);
        }
        for (const auto& op : program.operators())
            kernels_.push_back(
                kernels::make_cpu_kernel(op.type, {bound(op.inputs), bound(op.outputs), op.attributes}));
    }

    explicit Interpreter(const Program& program, std::uint64_t seed = 1)
        : Interpreter(program, State(program, seed)) {}

    void run() {
        for (const auto& kernel : kernels_) kernel->run();
    }

    const TensorView& view(const std::string& name) const { return tensors_.at(name); }

    template <class Element = float>
    std::span<Element> values(const std::string& name) const {
        return view(name).as<Element>();
    }

    /// All elements, whatever their type.
    std::vector<double> numbers(const std::string& name) const {
        const auto& tensor = view(name);
        std::vector<double> numbers;
        with_tensor_element(tensor.type, [&]<class Element>() {
            const auto elements = tensor.as<Element>();
            numbers.assign(elements.begin(), elements.end());
        });
        return numbers;
    }

    /// Sets all elements, rounded to the variable's type.
    void set(const std::string& name, const std::vector<double>& numbers) const {
        for (std::size_t i = 0; i < numbers.size(); ++i) set(name, i, numbers[i]);
    }

    void set(const std::string& name, std::size_t i, double number) const {
        const auto& tensor = view(name);
        with_tensor_element(tensor.type,
                            [&]<class Element>() { tensor.as<Element>()[i] = static_cast<Element>(number); });
    }

    const State& state() const { return state_; }

  private:
    std::vector<kernels::SlotTensor> bound(const std::vector<Argument>& arguments) const {
        std::vector<kernels::SlotTensor> tensors;
        for (const auto& argument : arguments)
            tensors.push_back({argument.slot, tensors_.at(argument.variable)});
        return tensors;
    }

    State state_;
    std::vector<std::vector<std::uint64_t>> memory_;
    std::map<std::string, TensorView> tensors_;
    std::vector<std::unique_ptr<kernels::Kernel>> kernels_;
};

}  // namespace dtrain
