// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "transpiler/server_program.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <dtrain/optimizer.hpp>

#include "program/ir/operators.hpp"

namespace dtrain::transpiler {
namespace {

Variable renamed(Variable variable, const std::string& name) {
    variable.name = name;
    return variable;
}

/// The block's slice of a variable that has its parameter's shape.
Variable cut(Variable variable, const std::string& name, const VariableBlock& block) {
    const auto original = std::exchange(variable.name, name);
    if (block.count == 1) return variable;
    variable.shape = block.shape;
    variable.initializer.block_of = original;
    variable.initializer.first_element = block.first_element();
    return variable;
}

class ServerProgram {
  public:
    ServerProgram(const Program& program, const UpdatePart& part, const std::vector<VariableBlock>& blocks,
                  const Names& rates)
        : program_(program), part_(part), blocks_(blocks), rates_(rates) {}

    Program made(int gradients) {
        for (const auto& block : blocks_) feed_gradient(block, gradients);
        const auto needed = needed_steps();
        for (const auto& step : part_.steps()) {
            if (!needed.contains(step.number)) continue;
            const auto& op = program_.operators()[step.number];
            if (step.parameters.size() == 1)
                for (const auto* block : blocks_of(*step.parameters.begin())) append(op, block);
            else
                append_whole(op, step);
        }
        return std::move(result_);
    }

  private:
    std::vector<const VariableBlock*> blocks_of(const std::string& parameter) const {
        std::vector<const VariableBlock*> found;
        for (const auto& block : blocks_)
            if (block.variable == parameter) found.push_back(&block);
        return found;
    }

    /// The steps of parameters with blocks on this server, and the steps without a parameter that they need:
    /// counters, learning rates.
    std::set<std::size_t> needed_steps() const {
        std::set<std::size_t> needed;
        Names read = rates_;
        const auto take = [&](const UpdatePart::Step& step) {
            needed.insert(step.number);
            for (const auto& input : program_.operators()[step.number].inputs) read.insert(input.variable);
        };
        const auto has_block = [&](const std::string& parameter) { return !blocks_of(parameter).empty(); };
        for (const auto& step : part_.steps())
            if (step.leads_to_update && std::ranges::any_of(step.parameters, has_block)) take(step);
        const auto is_read = [&](const Argument& output) { return read.contains(output.variable); };
        bool has_more = true;
        while (has_more) {
            const auto before = needed.size();
            for (const auto& step : part_.steps())
                if (step.parameters.empty() &&
                    std::ranges::any_of(program_.operators()[step.number].outputs, is_read))
                    take(step);
            has_more = needed.size() > before;
        }
        return needed;
    }

    void feed_gradient(const VariableBlock& block, int gradients) {
        const auto exchange =
            std::ranges::find(part_.exchanges(), block.variable, &program::Exchange::parameter);
        const auto type = program_.variable(exchange->gradient).type;
        const auto name = name_on_server(exchange->gradient, &block);
        if (gradients == 1) {
            result_.add({.name = name, .shape = block.shape, .type = type, .role = Role::data});
            return;
        }
        Operator sum{"sum", {}, {{"out", name}}, {}};
        for (int number = 0; number < gradients; ++number) {
            sum.inputs.push_back({"x", fed_gradient(block, number, gradients)});
            result_.add(
                {.name = sum.inputs.back().variable, .shape = block.shape, .type = type, .role = Role::data});
        }
        result_.append_with_outputs(std::move(sum), Role::gradient);
    }

    std::string name_on_server(const std::string& variable, const VariableBlock* block) const {
        if (block == nullptr || part_.parameters_of(variable).empty()) return variable;
        if (variable == gradient_name(block->variable)) return gradient_name(block->name());
        return block->name_of(variable);
    }

    void append(const Operator& op, const VariableBlock* block) {
        if (block != nullptr && block->count > 1 && !program::traits_of(op.type).in_blocks)
            refuse(op, fmt::format("'{}', of which this server has block {} of {}", block->variable,
                                   block->number, block->count));
        Operator on_server = op;
        for (auto* arguments : {&on_server.inputs, &on_server.outputs})
            for (auto& argument : *arguments) {
                const auto name = name_on_server(argument.variable, block);
                if (!result_.has(name)) add(argument.variable, name, block);
                argument.variable = name;
            }
        result_.append(std::move(on_server));
    }

    void add(const std::string& original, const std::string& name, const VariableBlock* block) {
        const bool is_cut = block != nullptr && !part_.parameters_of(original).empty();
        result_.add(is_cut ? cut(program_.variable(original), name, *block)
                           : renamed(program_.variable(original), name));
    }

    /// Appends a step of no parameter, or of several, all of which must be on this server as a whole.
    void append_whole(const Operator& op, const UpdatePart::Step& step) {
        for (const auto& parameter : step.parameters) {
            const auto blocks = blocks_of(parameter);
            if (blocks.empty() || blocks.front()->count > 1)
                refuse(op, fmt::format("several parameters, '{}' among them", parameter));
        }
        append(op, nullptr);
    }

    [[noreturn]] static void refuse(const Operator& op, const std::string& what) {
        throw ProgramError(
            fmt::format("transpile: operator {} needs the whole of {}: use one server, clip_by_value, or for "
                        "norms of single parameters slice_var_up = false",
                        op.type, what),
            op.type, "");
    }

    const Program& program_;
    const UpdatePart& part_;
    const std::vector<VariableBlock>& blocks_;
    const Names& rates_;
    Program result_;
};

}  // namespace

Program server_program(const Program& program, const UpdatePart& part,
                       const std::vector<VariableBlock>& blocks, const Names& rates, int gradients) {
    return ServerProgram(program, part, blocks, rates).made(gradients);
}

Program adding_program(const Program& program, const std::vector<VariableBlock>& blocks) {
    Program result;
    for (const auto& block : blocks) {
        const auto& parameter = program.variable(block.variable);
        const auto name = block.name();
        const auto change = fed_gradient(block, 0, 1);
        result.add(cut(parameter, name, block));
        result.add({.name = change, .shape = block.shape, .type = parameter.type, .role = Role::data});
        result.append({"sgd",
                       {{"parameter", name}, {"gradient", change}},
                       {{"parameter", name}},
                       {{"learning_rate", 1.0}}});
    }
    return result;
}

std::string fed_gradient(const VariableBlock& block, int number, int gradients) {
    const auto name = gradient_name(block.name());
    return gradients == 1 ? name : fmt::format("{}.trainer_{}", name, number);
}

}  // namespace dtrain::transpiler
