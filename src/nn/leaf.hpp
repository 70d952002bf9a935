// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nn/value.hpp"

namespace dtrain::eager {

/// Is notified when gradients of parameters are complete.
class GradientWatcher {
  public:
    GradientWatcher();
    GradientWatcher(const GradientWatcher&) = delete;
    GradientWatcher& operator=(const GradientWatcher&) = delete;
    virtual ~GradientWatcher() = default;

    /// Increases from each watcher to the next.
    std::uint64_t made() const { return made_; }

    /// The gradient of the parameter with this number is complete; the backward pass continues.
    virtual void ready(std::size_t number) = 0;

    /// A backward pass that reached one of the parameters has ended.
    virtual void finish() = 0;

    /// Watchers whose finish() is called at the end of every backward pass, whatever it reached, in the order
    /// of made().
    static std::vector<GradientWatcher*>& of_every_pass();

  private:
    std::uint64_t made_;
};

}  // namespace dtrain::eager

namespace dtrain::detail {

/// A parameter: values that an optimizer changes, and the sum of their gradients since they were last
/// cleared. Neither moves.
struct Leaf {
    std::string name;
    eager::Value value;
    eager::Value gradient;
    bool has_gradient = false;
    std::uint64_t version = 0;                  ///< incremented when this library changes the values
    eager::GradientWatcher* watcher = nullptr;  ///< may be null
    std::size_t number = 0;                     ///< of the parameter, for the watcher
    bool is_listed = false;  ///< parameters() of a layer has returned it, or an optimizer has it
};

}  // namespace dtrain::detail

namespace dtrain::eager {
using detail::Leaf;
}  // namespace dtrain::eager
