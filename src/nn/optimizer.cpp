// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <dtrain/environment.hpp>
#include <dtrain/nn_training.hpp>

#include "comm/node/node_line.hpp"
#include "kernels/functors/optimizer_info.hpp"
#include "kernels/kernel.hpp"
#include "nn/eager_device.hpp"
#include "nn/graph.hpp"
#include "nn/unlisted.hpp"

namespace dtrain::nn {
namespace {

using Leaves = std::vector<std::shared_ptr<eager::Leaf>>;

// Parameters and the operators that update them; gradients are inputs of the program.
Program update_program(const Leaves& leaves, const dtrain::Optimizer& settings,
                       const OptimizerOptions& options) {
    Program program;
    std::vector<ParameterGradient> gradients;
    for (const auto& leaf : leaves) {
        const auto& shape = leaf->value.shape;
        const auto type = leaf->value.type;
        const auto gradient = gradient_name(leaf->name);
        program.add({.name = leaf->name, .shape = shape, .type = type, .role = Role::parameter});
        program.add({.name = gradient, .shape = shape, .type = type, .role = Role::gradient});
        gradients.push_back({leaf->name, gradient});
    }
    append_optimizer(program, settings, gradients, options);
    return program;
}

State state_of(const Program& updates) {
    Program kept;
    for (const auto& variable : updates.variables())
        if (is_persistable(variable.role) && variable.role != Role::parameter) kept.add(variable);
    return {kept, 0};
}

// The prepared updates of some parameters.
class Updates {
  public:
    Updates(Leaves leaves, const Program& program, const State& state)
        : leaves_(std::move(leaves)), state_(state) {
        std::map<std::string, TensorView, std::less<>> views;
        for (const auto& leaf : leaves_) {
            views[leaf->name] = leaf->value.on_device();
            views[gradient_name(leaf->name)] = leaf->gradient.on_device();
        }
        for (const auto& kept : eager::own_device().device_state(state)) views[kept.name] = kept.view;
        for (const auto& variable : program.variables()) {
            if (views.contains(variable.name)) continue;
            made_.push_back(eager::make_value(variable.shape, variable.type));
            views[variable.name] = made_.back().on_device();
        }
        for (const auto& op : program.operators()) {
            const auto bound = [&](const std::vector<Argument>& arguments) {
                std::vector<kernels::SlotTensor> tensors;
                for (const auto& [slot, variable] : arguments) tensors.push_back({slot, views.at(variable)});
                return tensors;
            };
            kernels_.push_back(eager::own_device().make_kernel(
                op.type, {bound(op.inputs), bound(op.outputs), op.attributes}));
        }
        captured_ = eager::own_device().captured([this] { run_kernels(); });
    }

    void run() {
        for (const auto& leaf : leaves_) {
            leaf->value.on_device();
            leaf->gradient.on_device();
        }
        eager::own_device().write_state_to_device(state_);
        if (captured_)
            captured_->run();
        else
            run_kernels();
        for (const auto& leaf : leaves_) {
            leaf->value.note_written_on_device();
            ++leaf->version;
        }
    }

  private:
    void run_kernels() const {
        for (const auto& kernel : kernels_) kernel->run();
    }

    Leaves leaves_;  // parameters that have a gradient
    State state_;
    std::vector<eager::Value> made_;
    std::vector<std::unique_ptr<kernels::Kernel>> kernels_;
    std::unique_ptr<kernels::Kernel> captured_;  // all of them captured, or null
};

// Last layer first, the order in which backward passes compute gradients: sums over all of them are made in
// this order.
Leaves leaves_of(const std::vector<Parameter>& parameters) {
    if (parameters.empty()) throw UsageError("an optimizer needs a parameter at least; there is none");
    Leaves leaves;
    for (const auto& parameter : parameters) {
        leaves.push_back(parameter.leaf());
        leaves.back()->is_listed = true;
    }
    std::ranges::reverse(leaves);
    return leaves;
}

std::string no_gradient(const Leaves& leaves) {
    auto text = fmt::format(
        "step(): none of the {} parameters has a gradient; call backward() of a loss before", leaves.size());
    const bool averaged =
        std::ranges::any_of(leaves, [](const auto& leaf) { return leaf->watcher != nullptr; });
    if (averaged)
        text +=
            ". DataParallel averages them: if the loss leaves the layer out on this rank alone, set "
            "DataParallelOptions::every_backward, or the others wait for this rank";
    return text;
}

}  // namespace

struct Optimizer::Content {
    dtrain::Optimizer settings;
    OptimizerOptions options;
    std::vector<Parameter> parameters;
    Leaves leaves;
    State state;
    std::map<std::vector<bool>, Updates> updates;  // by which of the leaves have a gradient

    Content(const dtrain::Optimizer& chosen, std::vector<Parameter> given, const OptimizerOptions& more)
        : settings(chosen),
          options(more),
          parameters(std::move(given)),
          leaves(leaves_of(parameters)),
          state(state_of(update_program(leaves, settings, options))) {}
    Content(const Content&) = delete;
    Content& operator=(const Content&) = delete;
    ~Content() { eager::own_device().forget_later(state); }

    // Without options for parameters that have no gradient, because the program does not contain them.
    OptimizerOptions options_for(const Leaves& some) const {
        auto chosen = options;
        std::erase_if(chosen.regularisation_of, [&](const auto& each) { return !has(some, each.first); });
        return chosen;
    }

    dtrain::Optimizer settings_for(const Leaves& some) const {
        auto chosen = settings;
        if (auto* const exceptions = kernels::exceptions_of(chosen))
            std::erase_if(*exceptions, [&](const auto& name) { return !has(some, name); });
        return chosen;
    }

    static bool has(const Leaves& some, const std::string& name) {
        return std::ranges::any_of(some, [&](const auto& leaf) { return leaf->name == name; });
    }

    Updates& updates_of(const std::vector<bool>& wanted) {
        const auto found = updates.find(wanted);
        if (found != updates.end()) return found->second;
        Leaves some;
        for (std::size_t i = 0; i < leaves.size(); ++i)
            if (wanted[i]) some.push_back(leaves[i]);
        const auto program = update_program(some, settings_for(some), options_for(some));
        return updates.emplace(wanted, Updates(some, program, state)).first->second;
    }
};

Optimizer::Optimizer(const dtrain::Optimizer& settings, std::vector<Parameter> parameters,
                     const OptimizerOptions& options)
    : content_(std::make_unique<Content>(settings, std::move(parameters), options)) {}
Optimizer::Optimizer(Optimizer&&) noexcept = default;
Optimizer& Optimizer::operator=(Optimizer&&) noexcept = default;
Optimizer::~Optimizer() = default;

void Optimizer::step() {
    std::vector<bool> wanted;
    for (const auto& leaf : content_->leaves) wanted.push_back(leaf->has_gradient);
    if (std::ranges::find(wanted, true) == wanted.end()) throw NoGradientError(no_gradient(content_->leaves));
    if (const auto line = eager::unlisted_line(); !line.empty())
        comm::report_once_per_node(line, Environment::of_this_process());
    content_->updates_of(wanted).run();
}

void Optimizer::zero_grad() {
    for (const auto& leaf : content_->leaves) leaf->has_gradient = false;
}

const std::vector<Parameter>& Optimizer::parameters() const {
    return content_->parameters;
}

const State& Optimizer::state() const {
    return content_->state;
}

}  // namespace dtrain::nn
