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

/// Runs a command on a node as mpirun would: no question is asked, and a silent node is given up after 5 s.
std::vector<std::string> ssh_command(const std::string& host, const std::string& command);

/// Finds out, beside other things, which nodes ssh reaches without asking anybody.
class SshProbe {
  public:
    explicit SshProbe(const Environment& environment) : environment_(environment) {}

    /// The nodes out of `wanted` that were reached since the last call. Starts to ask those that it has not
    /// asked yet, or not for a while; never waits.
    std::vector<int> reached(const std::vector<int>& wanted, const std::vector<std::string>& hosts);

    /// What ssh said last about a node that it did not reach; "" for nothing.
    std::string complaint_about(int node) const;

  private:
    using Clock = std::chrono::steady_clock;
    struct Question {
        std::unique_ptr<Subprocess> ssh;  ///< none: answered with no
        Clock::time_point again_at;
        std::string complaint;
    };

    const Environment& environment_;
    std::map<int, Question> questions_;
};

}  // namespace dtrain::launch
