// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <dtrain/program.hpp>

namespace dtrain::eager {

/// An operator with its inputs, in the form that a Program's schemas check.
struct OperatorCall {
    struct Input {
        std::string slot;
        std::string name;  ///< for messages; "": none
        Shape shape;
        DataType type = DataType::float32;
        bool wants_gradient = false;
    };

    std::string_view type;
    std::vector<Input> inputs;
    std::vector<std::string_view> outputs;  ///< slots
    Attributes attributes = {};
};

/// An operator of a plan, with a unique number.
struct NumberedOperator {
    Operator op;
    std::uint64_t number = 0;
};

/// The operators that compute the gradients with respect to an operator's inputs from those with respect to
/// its outputs, which are data here; they belong to the same Program as the operator itself.
struct GradientPlan {
    std::vector<NumberedOperator> operators;
    std::vector<Variable> made;  ///< the variables that they compute
    struct Result {
        std::size_t input = 0;
        std::string gradient;
    };
    std::vector<Result> results;  ///< in the order in which the schema requested them
};

/// An operator for tensors of certain types: a Program of only this operator, created and checked by the same
/// schemas as every Program.
class OpPlan {
  public:
    /// @throws ProgramError if the inputs do not fit the operator
    explicit OpPlan(const OperatorCall& call);

    const NumberedOperator& forward() const { return forward_; }
    /// Variables of the outputs, in order.
    const std::vector<Variable>& outputs() const { return outputs_; }
    const std::vector<bool>& wants_gradient() const { return wants_gradient_; }

    /// Whether any gradient can flow through it.
    bool is_differentiable() const;

    /// @param given for each output, whether the loss depends on it
    /// @throws ProgramError if the operator has no such gradient
    const GradientPlan& backward(const std::vector<bool>& given) const;

    /// Whether backward() reads this variable; true for all variables if there are several outputs, because
    /// it is not yet known which of them a loss will depend on.
    bool keeps(std::string_view variable) const;

  private:
    GradientPlan make_backward(const std::vector<bool>& given) const;

    Program program_;
    NumberedOperator forward_;
    std::vector<Variable> outputs_;
    std::vector<bool> wants_gradient_;
    mutable std::vector<std::pair<std::vector<bool>, std::unique_ptr<GradientPlan>>> backward_;
};

/// The plan for such a call; the most recently used plans are cached.
std::shared_ptr<const OpPlan> plan_of(const OperatorCall& call);

}  // namespace dtrain::eager
