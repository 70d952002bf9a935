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

/// What an operator is given, as a Program's schemas check it.
struct OperatorCall {
    struct Input {
        std::string slot;
        std::string name;  ///< for messages; "": it has none
        Shape shape;
        DataType type = DataType::float32;
        bool wants_gradient = false;
    };

    std::string_view type;
    std::vector<Input> inputs;
    std::vector<std::string_view> outputs;  ///< slots
    Attributes attributes = {};
};

/// An operator of a plan, with a number that no other one has.
struct NumberedOperator {
    Operator op;
    std::uint64_t number = 0;
};

/// How the gradients by an operator's inputs are made from those by its outputs: operators of the same
/// Program as the operator itself. In it the outputs' gradients are data.
struct GradientPlan {
    std::vector<NumberedOperator> operators;
    std::vector<Variable> made;  ///< what they make
    struct Result {
        std::size_t input = 0;
        std::string gradient;
    };
    std::vector<Result> results;  ///< in the order in which the schema asked for them
};

/// An operator for tensors of certain types: a Program of this operator alone, made and checked by the same
/// schemas as every Program.
class OpPlan {
  public:
    /// @throws ProgramError when the inputs do not fit the operator
    explicit OpPlan(const OperatorCall& call);

    const NumberedOperator& forward() const { return forward_; }
    /// Of outputs, in their order.
    const std::vector<Variable>& outputs() const { return outputs_; }
    const std::vector<bool>& wants_gradient() const { return wants_gradient_; }

    /// Whether gradients can go through it at all.
    bool is_differentiable() const;

    /// @param given for each output, whether the loss depends on it
    /// @throws ProgramError when the operator has no such gradient
    const GradientPlan& backward(const std::vector<bool>& given) const;

    /// Whether backward() reads this variable; all do when there are several outputs, for nobody knows then
    /// which of them a loss will depend on.
    bool keeps(std::string_view variable) const;

  private:
    GradientPlan make_backward(const std::vector<bool>& given) const;

    Program program_;
    NumberedOperator forward_;
    std::vector<Variable> outputs_;
    std::vector<bool> wants_gradient_;
    mutable std::vector<std::pair<std::vector<bool>, std::unique_ptr<GradientPlan>>> backward_;
};

/// The plan for such a call; those that were used last are kept.
std::shared_ptr<const OpPlan> plan_of(const OperatorCall& call);

}  // namespace dtrain::eager
