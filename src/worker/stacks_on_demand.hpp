// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <sys/types.h>
#include <vector>

#include <dtrain/environment.hpp>

#include "cluster/event.hpp"
#include "worker/stacks.hpp"

namespace dtrain::worker {

/// Where a program is when somebody asks; it goes on meanwhile, but for the moment in which a debugger looks.
class StacksOnDemand {
  public:
    /// @param file has the stacks that were asked for last
    /// @param send_text the launcher may not see that file
    StacksOnDemand(std::filesystem::path file, mode_t mode, Environment environment, bool send_text);

    /// Begins to collect; asked again before that is done, there is one answer to both.
    void begin(pid_t guard, pid_t program);

    /// Readable when finish() has the answer; -1 while nobody has asked.
    int fd() const { return collection_ ? collection_->fd() : -1; }

    /// What to report.
    /// @param blank an event with everything that these have in common
    std::vector<cluster::Event> finish(const cluster::Event& blank);

  private:
    std::filesystem::path file_;
    mode_t mode_;
    Environment environment_;
    bool send_text_;
    std::unique_ptr<StackCollection> collection_;
};

/// A text as events of kind `stacks`, whole characters in each, and only its beginning where it is very long.
/// Pure.
std::vector<cluster::Event> events_of_stacks(std::string_view text, const cluster::Event& blank);

}  // namespace dtrain::worker
