// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "eager/value.hpp"

namespace dtrain::eager {

/// Wants to know when gradients of parameters are complete.
class GradientWatcher {
  public:
    GradientWatcher();
    GradientWatcher(const GradientWatcher&) = delete;
    GradientWatcher& operator=(const GradientWatcher&) = delete;
    virtual ~GradientWatcher() = default;

    /// Grows from each watcher to the next.
    std::uint64_t made() const { return made_; }

    /// The gradient of the parameter with this number is there; the backward pass goes on.
    virtual void ready(std::size_t number) = 0;

    /// A backward pass that reached one of the parameters is over.
    virtual void finish() = 0;

    /// Those whose finish() ends every backward pass, whatever it reached, in the order of made().
    static std::vector<GradientWatcher*>& of_every_pass();

  private:
    std::uint64_t made_;
};

/// A parameter: values that an optimizer changes, and the sum of their gradients since they were cleared.
/// Both stay in one place.
struct Leaf {
    std::string name;
    Value value;
    Value gradient;
    bool has_gradient = false;
    std::uint64_t version = 0;           ///< grows when the values are changed by this library
    GradientWatcher* watcher = nullptr;  ///< or none
    std::size_t number = 0;              ///< for the watcher
    bool is_listed = false;              ///< by parameters() of a layer, or an optimizer has it
};

}  // namespace dtrain::eager
