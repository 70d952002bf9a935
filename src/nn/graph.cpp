// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "nn/graph.hpp"

#include <algorithm>
#include <utility>

#include <dtrain/error.hpp>

#include "nn/run_operator.hpp"

namespace dtrain::eager {
namespace {

std::uint64_t next_number() {
    static std::uint64_t last = 0;
    return ++last;
}

}  // namespace

GradientWatcher::GradientWatcher() : made_(next_number()) {}

std::vector<GradientWatcher*>& GradientWatcher::of_every_pass() {
    static std::vector<GradientWatcher*> alive;
    return alive;
}

Node::Node(std::shared_ptr<const OpPlan> made_by, std::vector<Origin> of_inputs)
    : plan_(std::move(made_by)), origins_(std::move(of_inputs)), number_(next_number()) {}

Node::~Node() {
    std::vector<std::shared_ptr<Node>> doomed;
    const auto take = [&doomed](std::vector<Origin>& origins) {
        for (auto& origin : origins)
            if (origin.node) doomed.push_back(std::move(origin.node));
        origins.clear();
    };
    take(origins_);
    while (!doomed.empty()) {
        const auto last = std::move(doomed.back());
        doomed.pop_back();
        if (last.use_count() == 1) take(last->origins_);
    }
}

const Value& Node::kept(std::string_view variable) const {
    const auto found = std::ranges::find(kept_, variable, &Kept::variable);
    if (found == kept_.end()) throw Error("a gradient asks for a value that was not kept");
    return found->value;
}

const Leaf* Node::changed_parameter() const {
    const auto changed = std::ranges::find_if(
        kept_, [](const Kept& kept) { return kept.leaf && kept.leaf->version != kept.version; });
    return changed == kept_.end() ? nullptr : changed->leaf.get();
}

void Node::spend() {
    spent_ = true;
    kept_.clear();
    origins_.clear();
}

int& NoGradGuard::count() {
    static int alive = 0;
    return alive;
}

std::vector<Traced> run_traced(std::string_view type, const std::vector<TracedInput>& inputs,
                               const std::vector<std::string_view>& outputs, const Attributes& attributes) {
    OperatorCall call{.type = type, .inputs = {}, .outputs = outputs, .attributes = attributes};
    bool wants_gradient = false;
    for (const auto& [slot, tensor] : inputs) {
        const auto& [value, origin] = tensor;
        const bool wants = !NoGradGuard::is_on() && origin.wants_gradient();
        wants_gradient = wants_gradient || wants;
        call.inputs.push_back({slot, origin.leaf ? origin.leaf->name : "", value.shape, value.type, wants});
    }
    const auto plan = plan_of(call);

    std::vector<kernels::SlotTensor> in;
    in.reserve(inputs.size());
    for (const auto& input : inputs) in.push_back({input.slot, input.tensor.value.on_device()});
    std::vector<Traced> results;
    std::vector<kernels::SlotTensor> out;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        const auto& variable = plan->outputs()[i];
        results.push_back({make_value(variable.shape, variable.type), {}});
        out.push_back({std::string(outputs[i]), results.back().value.on_device()});
    }
    run_operator(plan->forward(), std::move(in), std::move(out));
    if (!wants_gradient || !plan->is_differentiable()) return results;

    std::vector<Origin> origins;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        origins.push_back(plan->wants_gradient()[i] ? inputs[i].tensor.origin : Origin{});
    const auto node = std::make_shared<Node>(plan, std::move(origins));
    const auto& op = plan->forward().op;
    for (std::size_t i = 0; i < inputs.size(); ++i)
        if (plan->keeps(op.inputs[i].variable))
            node->keep(op.inputs[i].variable, inputs[i].tensor.value, inputs[i].tensor.origin.leaf);
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (plan->keeps(op.outputs[i].variable)) node->keep(op.outputs[i].variable, results[i].value);
        results[i].origin = {node, i, nullptr};
    }
    return results;
}

}  // namespace dtrain::eager
