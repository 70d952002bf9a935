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
        switch (tensor.type) {
            case DataType::float32:
                return as_doubles<float>(tensor);
            case DataType::float64:
                return as_doubles<double>(tensor);
            case DataType::int64:
                return as_doubles<std::int64_t>(tensor);
            case DataType::int32:
                return as_doubles<std::int32_t>(tensor);
        }
        return {};
    }

    /// Sets all elements, rounded to the variable's type.
    void set(const std::string& name, const std::vector<double>& numbers) const {
        for (std::size_t i = 0; i < numbers.size(); ++i) set(name, i, numbers[i]);
    }

    void set(const std::string& name, std::size_t i, double number) const {
        const auto& tensor = view(name);
        switch (tensor.type) {
            case DataType::float32:
                tensor.as<float>()[i] = static_cast<float>(number);
                break;
            case DataType::float64:
                tensor.as<double>()[i] = number;
                break;
            case DataType::int64:
                tensor.as<std::int64_t>()[i] = static_cast<std::int64_t>(number);
                break;
            case DataType::int32:
                tensor.as<std::int32_t>()[i] = static_cast<std::int32_t>(number);
                break;
        }
    }

    const State& state() const { return state_; }

  private:
    template <class Element>
    static std::vector<double> as_doubles(const TensorView& tensor) {
        std::vector<double> numbers;
        for (const auto value : tensor.as<Element>()) numbers.push_back(static_cast<double>(value));
        return numbers;
    }

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
