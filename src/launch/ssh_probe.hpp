// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/subprocess.hpp"

namespace dtrain::launch {

/// The ssh command that runs a command on a node as mpirun would: without prompts, and with a connect timeout
/// of 5 s.
std::vector<std::string> ssh_command(const std::string& host, const std::string& command);

/// Finds out in the background which nodes ssh reaches without prompts.
class SshProbe {
  public:
    explicit SshProbe(const Environment& environment) : environment_(environment) {}

    /// The nodes in `wanted` that were reached since the last call. Starts to probe those that have not been
    /// probed yet, or not for a while; never blocks.
    std::vector<int> reached(const std::vector<int>& wanted, const std::vector<std::string>& hosts);

    /// ssh's last error for a node that it did not reach; "" if there is none.
    std::string complaint_about(int node) const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Question {
        std::unique_ptr<Subprocess> ssh;  ///< null: the node was not reached
        Clock::time_point again_at;
        std::string complaint;
    };

    const Environment& environment_;
    std::map<int, Question> questions_;
};

}  // namespace dtrain::launch
