// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>

#include "program/ir/operators.hpp"

namespace dtrain {
namespace {

using program::GradientMaker;

using Names = std::set<std::string, std::less<>>;

// Variables whose values depend on a parameter.
Names depending_on_parameters(const Program& program) {
    Names names;
    for (const auto& variable : program.variables())
        if (variable.role == Role::parameter) names.insert(variable.name);
    for (const auto& op : program.operators())
        if (std::ranges::any_of(op.inputs, [&](const auto& input) { return names.contains(input.variable); }))
            for (const auto& output : op.outputs) names.insert(output.variable);
    return names;
}

// Numbers of the operators through which the loss depends on a parameter, last one first.
std::vector<std::size_t> path_to(const Program& program, const std::string& loss, const Names& depending) {
    Names needed{loss};
    std::vector<std::size_t> path;
    for (std::size_t number = program.operators().size(); number-- > 0;) {
        const auto& op = program.operators()[number];
        const auto is_needed = [&](const auto& output) { return needed.contains(output.variable); };
        const auto depends = [&](const auto& input) { return depending.contains(input.variable); };
        if (std::ranges::none_of(op.outputs, is_needed) || std::ranges::none_of(op.inputs, depends)) continue;
        path.push_back(number);
        for (const auto& input : op.inputs) needed.insert(input.variable);
    }
    return path;
}

std::size_t number_of(const std::vector<Argument>& arguments, std::string_view slot) {
    return static_cast<std::size_t>(std::ranges::find(arguments, slot, &Argument::slot) - arguments.begin());
}

class Backward {
  public:
    Backward(Program& program, const std::string& loss) : program_(program), loss_(loss) {}

    std::vector<ParameterGradient> append() {
        const auto& loss = program_.variable(loss_);
        if (loss.shape != Shape{1} || !is_real(loss.type))
            throw ProgramError(fmt::format("append_backward: the loss '{}' is {} {}, expected float32 [1]",
                                           loss_, to_string(loss.type), to_string(loss.shape)),
                               "", loss_);
        Operator start{"loss_gradient", {}, {{"out", gradient_name(loss_)}}, {}};
        if (loss.type != DataType::float32) start.inputs = {{"loss", loss_}};
        depending_ = depending_on_parameters(program_);
        const auto path = path_to(program_, loss_, depending_);
        if (path.empty())
            throw ProgramError(fmt::format("append_backward: the loss '{}' depends on no parameter", loss_),
                               "", loss_);
        for (const auto number : path)
            for (const auto& input : program_.operators()[number].inputs)
                if (depending_.contains(input.variable)) ++uses_[input.variable];

        program_.append_with_outputs(std::move(start), Role::gradient);
        complete_.insert(loss_);
        for (const auto number : path) differentiate(program_.operators()[number]);
        return std::move(parameters_);
    }

  private:
    class Maker final : public GradientMaker {
      public:
        Maker(Backward& backward, const Operator& op) : backward_(backward), op_(op) {}

        const Operator& op() const override { return op_; }

        std::string of_output(std::string_view slot) const override {
            return of_output_at(number_of(op_.outputs, slot));
        }

        std::string of_output_at(std::size_t number) const override {
            const auto& variable = op_.outputs.at(number).variable;
            return backward_.complete_.contains(variable) ? gradient_name(variable) : "";
        }

        std::string of_input(std::string_view slot) override {
            return of_input_at(number_of(op_.inputs, slot));
        }

        std::string of_input_at(std::size_t number) override {
            const auto& variable = op_.inputs.at(number).variable;
            if (!backward_.depending_.contains(variable)) return "";
            const auto [name, is_new] = names_.try_emplace(number);
            if (is_new) name->second = backward_.next_term(variable);
            return name->second;
        }

        std::string of_input_or_unused(std::string_view slot) override {
            return of_input_at_or_unused(number_of(op_.inputs, slot));
        }

        std::string of_input_at_or_unused(std::size_t number) override {
            const auto name = of_input_at(number);
            return name.empty() ? helper("unused") : name;
        }

        std::string helper(std::string_view stem) override {
            return fmt::format("{}_{}", backward_.program_.unique_name(stem), helpers_++);
        }

        const Variable& variable(std::string_view name) const override {
            return backward_.program_.variable(name);
        }

        void append(Operator gradient_operator) override {
            backward_.program_.append_with_outputs(std::move(gradient_operator), Role::gradient);
        }

        bool has_made(std::size_t input) const { return names_.contains(input); }

      private:
        Backward& backward_;
        const Operator& op_;
        std::map<std::size_t, std::string> names_;  // by index of the input
        int helpers_ = 0;
    };

    /// By value, because appending reallocates the program's operators.
    void differentiate(const Operator op) {
        const auto* schema = program::find_schema(op.type);
        if (!schema->make_gradient)
            throw ProgramError(
                fmt::format("operator {}: it has no gradient, and the loss '{}' depends on its {} '{}'",
                            op.type, loss_, op.outputs.front().slot, op.outputs.front().variable),
                op.type, op.outputs.front().variable);
        Maker maker(*this, op);
        schema->make_gradient(maker);
        for (std::size_t number = 0; number < op.inputs.size(); ++number) {
            const auto& input = op.inputs[number];
            if (!depending_.contains(input.variable)) continue;
            if (!maker.has_made(number))
                throw ProgramError(
                    fmt::format("operator {}: it has no gradient by its {} '{}', which depends on a "
                                "parameter",
                                op.type, input.slot, input.variable),
                    op.type, input.variable);
            complete_if_last(input.variable);
        }
    }

    // The name of the next term of a variable's gradient; a variable that is used once has one term.
    std::string next_term(const std::string& variable) {
        auto& terms = terms_[variable];
        terms.push_back(uses_.at(variable) == 1
                            ? gradient_name(variable)
                            : fmt::format("{}_{}", gradient_name(variable), terms.size()));
        return terms.back();
    }

    Operator sum_of(const std::string& variable, const std::vector<std::string>& terms) const {
        const auto is_sparse = [&](const auto& term) { return program_.has(gradient_rows_name(term)); };
        const auto gradient = gradient_name(variable);
        Operator sum{"sum", {}, {{"out", gradient}}, {}};
        for (const auto& term : terms) sum.inputs.push_back({"x", term});
        if (std::ranges::none_of(terms, is_sparse)) return sum;
        if (!std::ranges::all_of(terms, is_sparse))
            throw ProgramError(fmt::format("append_backward: '{}' has sparse and dense gradients; set "
                                           "is_sparse for all embeddings that use it, or for none",
                                           variable),
                               "", variable);
        sum.type = "merge_rows";
        for (const auto& term : terms) sum.inputs.push_back({"rows", gradient_rows_name(term)});
        sum.outputs.insert(sum.outputs.begin(), {"rows", gradient_rows_name(gradient)});
        return sum;
    }

    void complete_if_last(const std::string& variable) {
        const auto& terms = terms_.at(variable);
        if (static_cast<int>(terms.size()) < uses_.at(variable) || !complete_.insert(variable).second) return;
        if (terms.size() > 1) program_.append_with_outputs(sum_of(variable, terms), Role::gradient);
        if (program_.variable(variable).role == Role::parameter)
            parameters_.push_back({variable, gradient_name(variable)});
    }

    Program& program_;
    const std::string loss_;
    Names depending_;
    Names complete_;  // variables whose gradient has all its terms
    std::map<std::string, int> uses_;
    std::map<std::string, std::vector<std::string>> terms_;
    std::vector<ParameterGradient> parameters_;
};

}  // namespace

std::string gradient_name(const std::string& variable) {
    return variable + "@grad";
}

std::string gradient_rows_name(const std::string& gradient) {
    return gradient + ".rows";
}

std::vector<ParameterGradient> append_backward(Program& program, const std::string& loss) {
    Program extended = program;  // leaves the caller's program unchanged if an error is thrown
    auto gradients = Backward(extended, loss).append();
    program = std::move(extended);
    return gradients;
}

}  // namespace dtrain
