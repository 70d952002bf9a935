// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/plan/plan.hpp"
#include "transport/agent.hpp"

namespace dtrain::launch {

/// A node that does not join may consider itself node 0 because its list is in another order. Checks in the
/// background whether such a launcher waits there.
class NodeOrderProbe {
  public:
    /// @param plan plan of this launcher, which is node 0
    NodeOrderProbe(const Options& options, const Plan& plan, const Environment& environment);

    /// The answer of such a launcher; nothing until one answers. Asks the absent nodes one after the other;
    /// waits at most briefly.
    std::optional<std::string> complaint(const std::vector<int>& absent);

  private:
    using Clock = std::chrono::steady_clock;

    void ask(const std::string& host);

    const Options& options_;
    std::vector<std::string> hosts_;
    transport::AgentOptions question_;
    std::unique_ptr<transport::Following> asking_;
    std::size_t asked_ = 0;
    Clock::time_point next_at_;
};

}  // namespace dtrain::launch
