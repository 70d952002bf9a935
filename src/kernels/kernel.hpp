// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dtrain/compute_type.hpp>
#include <dtrain/tensor.hpp>

/// Operators on this process' processor. A kernel is prepared once for tensors that stay where they are and
/// then runs many times.
namespace dtrain::kernels {

class Kernel {
  public:
    virtual ~Kernel() = default;

    /// Allocates nothing. @throws Error when the data cannot be (a label outside the classes)
    virtual void run() = 0;
};

struct SlotTensor {
    std::string slot;
    TensorView tensor;
};

/// Elements of a parameter, or of a list of its rows.
struct ElementRange {
    std::size_t first = 0;
    std::size_t count = 0;
};

/// What of larger tensors an element-wise operator is given.
struct Slice {
    Shape whole;            ///< of the tensors that it is cut from
    std::size_t first = 0;  ///< element of those
};

/// What an operator works on. Shapes and types have been checked by whoever made the program.
struct KernelArguments {
    std::vector<SlotTensor> inputs;
    std::vector<SlotTensor> outputs;
    Attributes attributes;
    /// The elements that run() updates, or, with an input "rows", the places in it; its owner changes them
    /// between two calls. None: all.
    const ElementRange* part = nullptr;
    std::optional<Slice> slice = {};              ///< none: the tensors are whole
    ComputeType products = ComputeType::float32;  ///< of float32 tensors

    bool has_input(std::string_view slot) const;
    const TensorView& input(std::string_view slot) const;
    const TensorView& output(std::string_view slot) const;

    /// All tensors of a slot that takes several.
    std::vector<TensorView> inputs_of(std::string_view slot) const;
    std::vector<TensorView> outputs_of(std::string_view slot) const;

    template <class Element = float>
    std::span<const Element> in(std::string_view slot) const {
        return input(slot).as<Element>();
    }
    template <class Element = float>
    std::span<Element> out(std::string_view slot) const {
        return output(slot).as<Element>();
    }

    /// float64 when the first output (or, without one, input) of real numbers holds such, else float32.
    DataType real_type() const;

    double number(std::string_view attribute) const;
    std::int64_t whole(std::string_view attribute) const;
    std::string text(std::string_view attribute) const;
    std::vector<std::int64_t> wholes(std::string_view attribute) const;
    std::vector<double> numbers(std::string_view attribute) const;
};

/// True when make_cpu_kernel() knows this operator.
bool has_cpu_kernel(std::string_view operator_type);

/// All operators that it knows, sorted.
std::vector<std::string_view> cpu_operators();

/// @throws Error when there is no kernel for this operator
std::unique_ptr<Kernel> make_cpu_kernel(std::string_view operator_type, const KernelArguments& arguments);

/// Threads that matrix products use from now on.
void set_compute_threads(int threads);

/// A kernel that calls a function object.
template <class Function>
std::unique_ptr<Kernel> kernel_of(Function function) {
    class FunctionKernel final : public Kernel {
      public:
        explicit FunctionKernel(Function f) : function_(std::move(f)) {}
        void run() override { function_(); }

      private:
        Function function_;
    };
    return std::make_unique<FunctionKernel>(std::move(function));
}

}  // namespace dtrain::kernels
