// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include <dtrain/environment.hpp>

#include "protocol/event.hpp"
#include "trace/rank_state.hpp"
#include "worker/stacks.hpp"

namespace dtrain::worker {

/// Stack traces of a running program on request; the program continues, except while a debugger reads it.
class StacksOnDemand {
  public:
    /// @param file holds the stacks of the last request
    /// @param send_text set if the launcher may not see that file
    /// @param operations folder of the program's operation logs; "": it has none
    StacksOnDemand(std::filesystem::path file, mode_t mode, Environment environment, bool send_text,
                   std::filesystem::path operations = {});

    /// Starts collecting. A second request before completion is answered together with the first.
    /// @param before what the rank does, before a debugger stops it for a moment
    void begin(pid_t guard, pid_t program, trace::RankState before);

    /// Readable when finish() has the answer; -1 if nothing was requested.
    int fd() const { return collection_ ? collection_->fd() : -1; }

    /// The events to report.
    /// @param blank an event with the fields that they have in common
    std::vector<cluster::Event> finish(const cluster::Event& blank);

  private:
    std::filesystem::path file_;
    mode_t mode_;
    Environment environment_;
    bool send_text_;
    std::filesystem::path operations_;
    std::unique_ptr<StackCollection> collection_;
    trace::RankState before_;
};

/// Splits a text into events of kind `stacks`, never inside a character; a very long text is truncated. Pure.
std::vector<cluster::Event> events_of_stacks(std::string_view text, const cluster::Event& blank);

}  // namespace dtrain::worker
