// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/leaf.hpp"
#include "nn/plan.hpp"
#include "nn/value.hpp"

namespace dtrain::eager {

class Node;

/// Where a value's gradient goes: to the operator that computed the value, to a parameter, or nowhere.
struct Origin {
    std::shared_ptr<Node> node;
    std::size_t output = 0;  ///< index among the node's outputs
    std::shared_ptr<Leaf> leaf;

    bool wants_gradient() const { return node != nullptr || leaf != nullptr; }
};

/// An operator that was run, and what its gradients need.
class Node {
  public:
    Node(std::shared_ptr<const OpPlan> made_by, std::vector<Origin> of_inputs);
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    /// Not recursive: chains of nodes may be long.
    ~Node();

    const OpPlan& plan() const { return *plan_; }
    const std::vector<Origin>& origins() const { return origins_; }

    /// Increases from each node to the next.
    std::uint64_t number() const { return number_; }

    /// Keeps a value under the name of the plan's variable. @param leaf the parameter with this value, or
    /// none
    void keep(const std::string& variable, const Value& value, const std::shared_ptr<Leaf>& leaf = nullptr) {
        kept_.push_back({variable, value, leaf, leaf ? leaf->version : 0});
    }
    const Value& kept(std::string_view variable) const;

    /// A parameter whose kept values have been changed since, or null.
    const Leaf* changed_parameter() const;

    /// Call it after a backward pass: releases memory and graph.
    void spend();
    bool is_spent() const { return spent_; }

  private:
    struct Kept {
        std::string variable;
        Value value;
        std::shared_ptr<Leaf> leaf;
        std::uint64_t version;
    };

    std::shared_ptr<const OpPlan> plan_;
    std::vector<Origin> origins_;  // of the inputs
    std::uint64_t number_;
    std::vector<Kept> kept_;
    bool spent_ = false;
};

/// While a guard exists, operators record nothing for gradients.
class NoGradGuard {
  public:
    NoGradGuard() { ++count(); }
    NoGradGuard(const NoGradGuard&) = delete;
    NoGradGuard& operator=(const NoGradGuard&) = delete;
    ~NoGradGuard() { --count(); }

    static bool is_on() { return count() > 0; }
    static int& count();  ///< number of existing guards
};

}  // namespace dtrain::eager

namespace dtrain::detail {

/// A value and how it was computed.
struct Traced {
    eager::Value value;
    eager::Origin origin;
};

}  // namespace dtrain::detail

namespace dtrain::eager {

using detail::Traced;

struct TracedInput {
    std::string slot;
    Traced tensor;
};

/// Runs an operator and records it if a gradient may need it. @throws ProgramError if an input does not fit
std::vector<Traced> run_traced(std::string_view type, const std::vector<TracedInput>& inputs,
                               const std::vector<std::string_view>& outputs = {"out"},
                               const Attributes& attributes = {});

/// Adds the gradients of a scalar to all parameters that it depends on, and releases the graph.
/// @param loss with a node that has not been released
/// @throws ProgramError before anything is computed if an operator has no gradient
void run_backward(const Traced& loss);

}  // namespace dtrain::eager
