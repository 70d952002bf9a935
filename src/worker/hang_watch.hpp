// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "worker/idleness.hpp"
#include "worker/stacks.hpp"

namespace dtrain::worker {

/// Detects that a program and all its descendants are idle, and then collects where they are.
class HangWatch {
  public:
    struct Options {
        cluster::HangLimit limit;
        std::filesystem::path stacks_file;           ///< written each time the program becomes idle
        mode_t mode = 0600;                          ///< of the files
        Environment environment;                     ///< says where debuggers are
        std::filesystem::path operations = {};       ///< folder of the program's operation logs; "": none
        std::filesystem::path operations_file = {};  ///< the same with all its operations; "": none
    };

    explicit HangWatch(Options options);

    struct Finding {
        bool idle = false;
        std::chrono::milliseconds idle_time{0};
        cluster::Inactivity kind = cluster::Inactivity::sleeps;
        StackSummary where;
        bool is_new = false;       ///< where it is was just found out
        std::string problem = {};  ///< why a file could not be written; "": none
    };

    /// Call after ms_to_next_poll() or when stacks_fd() is readable. Once the program has been idle, every
    /// sample returns a finding, since a report may get lost.
    /// @param output bytes that the program has printed so far
    std::optional<Finding> poll(pid_t guard, pid_t program, std::uintmax_t output);

    int ms_to_next_poll() const;
    /// -1 while no stacks are collected.
    int stacks_fd() const { return collection_ ? collection_->fd() : -1; }

  private:
    struct Use {
        std::chrono::milliseconds cpu_time{0};
        std::chrono::milliseconds cpu_wait{0};
        std::uintmax_t moved = 0;
    };
    static Use use_below(pid_t guard);

    bool poll_due(pid_t guard, std::uintmax_t output);
    bool may_have_gone_on() const;
    void note_kind();
    bool collection_done();

    Options options_;
    Idleness idleness_;
    Idleness::Clock::time_point next_poll_;
    Use used_;        // by the tree since its start
    Use used_shown_;  // by the processes that existed at the last poll
    std::unique_ptr<StackCollection> collection_;
    std::optional<StackSummary> where_;
    cluster::Inactivity kind_ = cluster::Inactivity::sleeps;
    Idleness::Clock::time_point stopped_until_{};  // by a debugger that tells where it is
    std::chrono::milliseconds used_before_{0};     // processor time, when it was asked where it is
    Idleness::Clock::time_point asked_at_;
    std::string problem_;
    bool reported_idle_ = false;
};

}  // namespace dtrain::worker
