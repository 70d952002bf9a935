// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <dtrain/nn_tensor.hpp>
#include <dtrain/optimizer.hpp>

#include "base/with_element.hpp"
#include "kernels/loops/loops.hpp"
#include "nn/eager_device.hpp"
#include "nn/graph.hpp"
#include "nn/run_operator.hpp"
#include "nn/unlisted.hpp"

namespace dtrain::eager {
namespace {

void add_on_host(const TensorView& term, const TensorView& to) {
    if (to.type == DataType::float64)
        kernels::loops::add(term.as<double>().data(), to.as<double>().data(), to.size());
    else
        kernels::loops::add(term.as<float>().data(), to.as<float>().data(), to.size());
}

// Works in place because GPU kernels read an element before they write it.
void add_on_device(const Value& term, const Value& to) {
    const OperatorCall::Input input{.slot = "x", .name = "", .shape = to.shape, .type = to.type};
    const auto plan = plan_of({.type = "sum", .inputs = {input, input}, .outputs = {"out"}});
    run_operator(plan->forward(), {{"x", to.on_device()}, {"x", term.on_device()}},
                 {{"out", to.on_device()}});
    to.note_written_on_device();
}

void add(const Value& term, const Value& to) {
    if (own_device().is_apart())
        add_on_device(term, to);
    else
        add_on_host(term.on_host(), to.on_host());
}

// The gradient of a loss with respect to itself: one.
Value one_like(const Value& loss) {
    // Never destroyed: tensors may live until the very end of the process.
    static auto& made = *new std::map<DataType, Value>;
    auto& one = made[loss.type];
    if (!one.memory) {
        one = make_value({1}, loss.type);
        with_tensor_element(loss.type,
                            [&]<class Element>() { one.host_to_fill().as<Element>().front() = Element(1); });
    }
    auto shaped = one;
    shaped.shape = loss.shape;
    return shaped;
}

// A gradient that is summed term by term, bitwise identical to the operator `sum` over all terms.
class Terms {
  public:
    void expect() { ++missing_; }

    // where: memory for a sum of several terms; none: newly allocated memory
    void arrive(const Value& term, const Value& where = {}) {
        --missing_;
        if (!sum_.memory) {
            sum_ = term;  // shared, so it must not be changed
            return;
        }
        if (!is_own_) {
            const auto own = where.memory ? where : make_value(sum_.shape, sum_.type);
            own_device().copy(sum_, own);
            sum_ = own;
            is_own_ = true;
        }
        add(term, sum_);
    }

    int missing() const { return missing_; }
    bool has_none() const { return !sum_.memory; }
    const Value& sum() const { return sum_; }

  private:
    int missing_ = 0;
    Value sum_;
    bool is_own_ = false;
};

class Backward {
  public:
    explicit Backward(const Traced& loss) {
        note(loss.origin);
        for (auto at = nodes_.begin(); at != nodes_.end(); ++at)
            for (const auto& origin : at->second->origins()) note(origin);
        outputs_.at({loss.origin.node.get(), loss.origin.output}).arrive(one_like(loss.value));
        for (const auto& [number, node] : nodes_) node->plan().backward(given(*node));
    }

    void run() {
        // The newest node is first, so all nodes that read its outputs have been processed before it.
        for (auto& [number, node] : nodes_) {
            differentiate(*node);
            node->spend();
        }
        for (auto* const watcher : GradientWatcher::of_every_pass())
            watchers_.emplace(watcher->made(), watcher);
        for (const auto& [made, watcher] : watchers_) watcher->finish();
    }

  private:
    using Output = std::pair<const Node*, std::size_t>;

    void note(const Origin& origin) {
        if (origin.leaf) {
            leaves_[origin.leaf.get()].expect();
            note_reached(origin.leaf);
        }
        if (!origin.node) return;
        outputs_[{origin.node.get(), origin.output}].expect();
        nodes_.emplace(origin.node->number(), origin.node);
        if (const auto* const leaf = origin.node->changed_parameter())
            throw nn::ChangedParameterError(
                fmt::format("backward(): parameter '{}' was changed after the operator {} had used it; "
                            "call step() and set_values() behind backward()",
                            leaf->name, origin.node->plan().forward().op.type),
                leaf->name);
        if (origin.node->is_spent())
            throw nn::SpentGraphError(
                fmt::format("backward(): the operator {} was in the graph of a backward() before, which let "
                            "it go; compute "
                            "it again, or add up the losses and call backward() once",
                            origin.node->plan().forward().op.type));
    }

    // For each output, whether the loss depends on it.
    std::vector<bool> given(const Node& node) const {
        std::vector<bool> outputs;
        for (std::size_t i = 0; i < node.plan().outputs().size(); ++i)
            outputs.push_back(outputs_.contains({&node, i}));
        return outputs;
    }

    void differentiate(const Node& node) {
        const auto& plan = node.plan();
        const auto& backward = plan.backward(given(node));
        std::map<std::string, Value, std::less<>> gradients;
        for (std::size_t i = 0; i < plan.outputs().size(); ++i) {
            const auto terms = outputs_.find({&node, i});
            if (terms == outputs_.end()) continue;
            gradients[gradient_name(plan.outputs()[i].name)] = terms->second.sum();
            outputs_.erase(terms);
        }
        for (const auto& variable : backward.made)
            gradients[variable.name] = value_for(variable, node, backward);
        const auto value_of = [&](const std::string& variable) {
            const auto found = gradients.find(variable);
            return (found != gradients.end() ? found->second : node.kept(variable)).on_device();
        };
        for (const auto& op : backward.operators) {
            const auto bound = [&](const std::vector<Argument>& arguments) {
                std::vector<kernels::SlotTensor> tensors;
                for (const auto& [slot, variable] : arguments) tensors.push_back({slot, value_of(variable)});
                return tensors;
            };
            run_operator(op, bound(op.op.inputs), bound(op.op.outputs));
            hand_on(op.op, node, backward, gradients);
        }
    }

    // If this gradient is the parameter's only term, it is computed directly in the parameter's gradient.
    Value value_for(const Variable& variable, const Node& node, const GradientPlan& backward) const {
        const auto result =
            std::ranges::find(backward.results, variable.name, &GradientPlan::Result::gradient);
        if (result != backward.results.end())
            if (const auto& leaf = node.origins()[result->input].leaf; leaf && is_made_in_place(*leaf)) {
                leaf->gradient.note_written_on_device();
                return leaf->gradient;
            }
        return make_value(variable.shape, variable.type);
    }

    bool is_made_in_place(const Leaf& leaf) const {
        const auto& terms = leaves_.at(&leaf);
        return !leaf.has_gradient && terms.missing() == 1 && terms.has_none();
    }

    // A parameter's gradient is passed on as soon as the operator that completes it has run.
    void hand_on(const Operator& op, const Node& node, const GradientPlan& backward,
                 const std::map<std::string, Value, std::less<>>& gradients) {
        for (const auto& [input, gradient] : backward.results) {
            if (std::ranges::find(op.outputs, gradient, &Argument::variable) == op.outputs.end()) continue;
            const auto& origin = node.origins()[input];
            if (origin.node) {
                outputs_.at({origin.node.get(), origin.output}).arrive(gradients.at(gradient));
            } else if (origin.leaf) {
                arrive(*origin.leaf, gradients.at(gradient));
            }
        }
    }

    void arrive(Leaf& leaf, const Value& term) {
        auto& terms = leaves_.at(&leaf);
        terms.arrive(term, leaf.has_gradient ? Value() : leaf.gradient);
        if (terms.missing() > 0) return;
        const auto& sum = terms.sum();
        if (leaf.has_gradient)
            add(sum, leaf.gradient);
        else if (sum.memory != leaf.gradient.memory)
            own_device().copy(sum, leaf.gradient);
        leaf.has_gradient = true;
        if (leaf.watcher == nullptr) return;
        watchers_.emplace(leaf.watcher->made(), leaf.watcher);
        leaf.watcher->ready(leaf.number);
    }

    std::map<std::uint64_t, std::shared_ptr<Node>, std::greater<>> nodes_;
    std::map<Output, Terms> outputs_;
    std::map<const Leaf*, Terms> leaves_;
    std::map<std::uint64_t, GradientWatcher*> watchers_;  // all ranks wait for them in this order
};

}  // namespace

void run_backward(const Traced& loss) {
    const NoGradGuard without_graph;
    Backward(loss).run();
}

}  // namespace dtrain::eager
