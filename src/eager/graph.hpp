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

#include "eager/leaf.hpp"
#include "eager/plan.hpp"
#include "eager/value.hpp"

namespace dtrain::eager {

class Node;

/// Where a value's gradient goes: to the operator that made it, or to a parameter, or nowhere.
struct Origin {
    std::shared_ptr<Node> node;
    std::size_t output = 0;  ///< of the node
    std::shared_ptr<Leaf> leaf;

    bool wants_gradient() const { return node != nullptr || leaf != nullptr; }
};

/// An operator that was run, and what its gradients need.
class Node {
  public:
    Node(std::shared_ptr<const OpPlan> made_by, std::vector<Origin> of_inputs);
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;
    /// Not by recursion: chains of nodes may be long.
    ~Node();

    const OpPlan& plan() const { return *plan_; }
    const std::vector<Origin>& origins() const { return origins_; }

    /// Grows from each node to the next.
    std::uint64_t number() const { return number_; }

    /// By the name of the plan's variable.
    /// @param leaf whose value it is, or none
    void keep(const std::string& variable, const Value& value, const std::shared_ptr<Leaf>& leaf = nullptr) {
        kept_.push_back({variable, value, leaf, leaf ? leaf->version : 0});
    }
    const Value& kept(std::string_view variable) const;

    /// A parameter whose kept values were changed since, or none.
    const Leaf* changed_parameter() const;

    /// After a backward pass: memory and graph are let go.
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

/// While one lives, nothing is noted for gradients.
class NoGradGuard {
  public:
    NoGradGuard() { ++count(); }
    NoGradGuard(const NoGradGuard&) = delete;
    NoGradGuard& operator=(const NoGradGuard&) = delete;
    ~NoGradGuard() { --count(); }

    static bool is_on() { return count() > 0; }
    static int& count();  ///< of those that live
};

/// A value and how it came to be.
struct Traced {
    Value value;
    Origin origin;
};

struct TracedInput {
    std::string slot;
    Traced tensor;
};

/// Runs an operator and notes it when a gradient will want it. @throws ProgramError when an input does not
/// fit
std::vector<Traced> run_traced(std::string_view type, const std::vector<TracedInput>& inputs,
                               const std::vector<std::string_view>& outputs = {"out"},
                               const Attributes& attributes = {});

/// Adds the gradients of a scalar to all parameters that it depends on, and lets the graph go.
/// @param loss with a node that is not spent
/// @throws ProgramError before anything is computed when an operator has no gradient
void run_backward(const Traced& loss);

}  // namespace dtrain::eager
