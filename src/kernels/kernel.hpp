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

/// Operators on this process' CPU. A kernel is prepared once for tensors that do not move, and then runs many
/// times.
namespace dtrain::kernels {

class Kernel {
  public:
    virtual ~Kernel() = default;

    /// Does not allocate. @throws Error if the data are invalid (a label outside the classes)
    virtual void run() = 0;
};

struct SlotTensor {
    std::string slot;
    TensorView tensor;
};

/// A range of elements of a parameter, or of a list of its rows.
struct ElementRange {
    std::size_t first = 0;
    std::size_t count = 0;
};

/// The part of larger tensors that an element-wise operator is given.
struct Slice {
    Shape whole;            ///< of the whole tensors
    std::size_t first = 0;  ///< index of the first element in them
};

/// Tensors and attributes of an operator. Shapes and types have been checked when the program was built.
struct KernelArguments {
    std::vector<SlotTensor> inputs;
    std::vector<SlotTensor> outputs;
    Attributes attributes;
    /// The elements that run() updates, or, with an input "rows", the positions in it; its owner may change
    /// them between two calls. Null: all.
    const ElementRange* part = nullptr;
    std::optional<Slice> slice = {};              ///< none: the tensors are whole
    ComputeType products = ComputeType::float32;  ///< for float32 tensors

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

    /// float64 if the first real output (or, without one, input) is float64, else float32.
    DataType real_type() const;

    double number(std::string_view attribute) const;
    std::int64_t whole(std::string_view attribute) const;
    std::string text(std::string_view attribute) const;
    std::vector<std::int64_t> wholes(std::string_view attribute) const;
    std::vector<double> numbers(std::string_view attribute) const;
};

/// True if make_cpu_kernel() supports this operator.
bool has_cpu_kernel(std::string_view operator_type);

/// All operators that it supports, sorted.
std::vector<std::string_view> cpu_operators();

/// @throws Error if there is no kernel for this operator
std::unique_ptr<Kernel> make_cpu_kernel(std::string_view operator_type, const KernelArguments& arguments);

/// Sets the number of threads for matrix products.
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
