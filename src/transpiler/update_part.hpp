// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <dtrain/program.hpp>

#include "program/ir/exchanges.hpp"

namespace dtrain::transpiler {

using Names = std::set<std::string, std::less<>>;

/// How a training program uses its gradients: which operators and variables belong to which parameter.
class UpdatePart {
  public:
    /// An operator after the gradients. It belongs to one parameter if it uses only that one's variables, to
    /// several if it measures several gradients, to none if it is a step counter.
    struct Step {
        std::size_t number = 0;  ///< index among the program's operators
        Names parameters;
        bool leads_to_update = false;
    };

    explicit UpdatePart(const Program& program);

    const std::vector<program::Exchange>& exchanges() const { return exchanges_; }
    std::size_t begin() const { return begin_; }
    const std::vector<Step>& steps() const { return steps_; }

    /// The parameters from whose gradients this variable is computed, or whose state it is.
    const Names& parameters_of(const std::string& variable) const;

  private:
    std::vector<program::Exchange> exchanges_;
    std::size_t begin_;
    std::map<std::string, Names, std::less<>> parameters_of_;
    std::vector<Step> steps_;
};

}  // namespace dtrain::transpiler
