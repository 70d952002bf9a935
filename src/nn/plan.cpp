// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "nn/plan.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>

#include "nn/lru_cache.hpp"
#include "program/ir/operators.hpp"

namespace dtrain::eager {
namespace {

std::uint64_t next_operator_number() {
    static std::uint64_t last = 0;
    return ++last;
}

std::string name_of_input(const Program& program, const OperatorCall::Input& input) {
    if (!input.name.empty() && !program.has(input.name)) return input.name;
    const auto& stem = input.name.empty() ? input.slot : input.name;
    return program.has(stem) ? program.unique_name(stem) : stem;
}

class Maker final : public program::GradientMaker {
  public:
    Maker(Program& program, const Operator& op, const std::vector<bool>& given,
          const std::vector<bool>& wanted, GradientPlan& plan)
        : program_(program), op_(op), given_(given), wanted_(wanted), plan_(plan) {}

    const Operator& op() const override { return op_; }

    std::string of_output(std::string_view slot) const override {
        return of_output_at(index_of(op_.outputs, slot));
    }

    std::string of_output_at(std::size_t number) const override {
        return given_.at(number) ? gradient_name(op_.outputs[number].variable) : "";
    }

    std::string of_input(std::string_view slot) override { return of_input_at(index_of(op_.inputs, slot)); }

    std::string of_input_at(std::size_t number) override {
        if (!wanted_.at(number)) return "";
        const auto found = std::ranges::find(plan_.results, number, &GradientPlan::Result::input);
        if (found != plan_.results.end()) return found->gradient;
        plan_.results.push_back({number, gradient_name(op_.inputs[number].variable)});
        return plan_.results.back().gradient;
    }

    std::string of_input_or_unused(std::string_view slot) override {
        return of_input_at_or_unused(index_of(op_.inputs, slot));
    }

    std::string of_input_at_or_unused(std::size_t number) override {
        auto name = of_input_at(number);
        return name.empty() ? helper("unused") : name;
    }

    std::string helper(std::string_view stem) override {
        return fmt::format("{}_{}", program_.unique_name(stem), helpers_++);
    }

    const Variable& variable(std::string_view name) const override { return program_.variable(name); }

    void append(Operator op) override {
        program_.append_with_outputs(std::move(op), Role::gradient);
        const auto& appended = program_.operators().back();
        plan_.operators.push_back({appended, next_operator_number()});
        for (const auto& output : appended.outputs) plan_.made.push_back(program_.variable(output.variable));
    }

  private:
    static std::size_t index_of(const std::vector<Argument>& arguments, std::string_view slot) {
        return static_cast<std::size_t>(std::ranges::find(arguments, slot, &Argument::slot) -
                                        arguments.begin());
    }

    Program& program_;
    const Operator& op_;
    const std::vector<bool>& given_;
    const std::vector<bool>& wanted_;
    GradientPlan& plan_;
    int helpers_ = 0;
};

using InputKey = std::tuple<std::string, Shape, DataType, bool>;
using CallKey = std::tuple<std::string, std::vector<InputKey>, std::vector<std::string>, Attributes>;

CallKey key_of(const OperatorCall& call) {
    std::vector<InputKey> inputs;
    for (const auto& input : call.inputs)
        inputs.emplace_back(input.slot, input.shape, input.type, input.wants_gradient);
    std::vector<std::string> outputs(call.outputs.begin(), call.outputs.end());
    return CallKey(call.type, std::move(inputs), std::move(outputs), call.attributes);
}

}  // namespace

OpPlan::OpPlan(const OperatorCall& call) {
    Operator op{std::string(call.type), {}, {}, call.attributes};
    for (const auto& input : call.inputs) {
        const auto name = name_of_input(program_, input);
        program_.add({.name = name, .shape = input.shape, .type = input.type, .role = Role::data});
        op.inputs.push_back({input.slot, name});
        wants_gradient_.push_back(input.wants_gradient);
    }
    for (const auto slot : call.outputs) {
        const auto before = std::ranges::count(op.outputs, slot, &Argument::slot);
        const auto stem =
            before == 0 ? fmt::format("result.{}", slot) : fmt::format("result.{}.{}", slot, before);
        op.outputs.push_back({std::string(slot), program_.unique_name(stem)});
    }
    program_.append_with_outputs(std::move(op));
    forward_ = {program_.operators().back(), next_operator_number()};
    for (const auto& output : forward_.op.outputs) outputs_.push_back(program_.variable(output.variable));
}

bool OpPlan::is_differentiable() const {
    return static_cast<bool>(program::find_schema(forward_.op.type)->make_gradient);
}

const GradientPlan& OpPlan::backward(const std::vector<bool>& given) const {
    for (const auto& [known, plan] : backward_)
        if (known == given) return *plan;
    backward_.emplace_back(given, std::make_unique<GradientPlan>(make_backward(given)));
    return *backward_.back().second;
}

GradientPlan OpPlan::make_backward(const std::vector<bool>& given) const {
    GradientPlan plan;
    auto extended = program_;
    for (std::size_t i = 0; i < outputs_.size(); ++i)
        if (given[i])
            extended.add({.name = gradient_name(outputs_[i].name),
                          .shape = outputs_[i].shape,
                          .type = outputs_[i].type,
                          .role = Role::data});
    Maker maker(extended, forward_.op, given, wants_gradient_, plan);
    program::find_schema(forward_.op.type)->make_gradient(maker);
    for (std::size_t i = 0; i < wants_gradient_.size(); ++i)
        if (wants_gradient_[i] &&
            std::ranges::find(plan.results, i, &GradientPlan::Result::input) == plan.results.end()) {
            const auto& [slot, variable] = forward_.op.inputs[i];
            throw ProgramError(fmt::format("operator {}: it has no gradient by its {} '{}', which depends on "
                                           "a parameter",
                                           forward_.op.type, slot, variable),
                               forward_.op.type, variable);
        }
    return plan;
}

bool OpPlan::keeps(std::string_view variable) const {
    if (outputs_.size() > 1) return true;
    return std::ranges::any_of(backward({true}).operators, [&](const NumberedOperator& each) {
        return std::ranges::find(each.op.inputs, variable, &Argument::variable) != each.op.inputs.end();
    });
}

std::shared_ptr<const OpPlan> plan_of(const OperatorCall& call) {
    // Never destroyed: tensors may live until the very end of the process.
    static auto& plans = *new LruCache<CallKey, std::shared_ptr<const OpPlan>>(1024);
    return plans.get(key_of(call), [&] { return std::make_shared<const OpPlan>(call); });
}

}  // namespace dtrain::eager
