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
    /// @param stacks_file is written each time the program becomes idle
    /// @param operations folder of the program's operation logs; "": it has none
    HangWatch(std::chrono::milliseconds timeout, std::filesystem::path stacks_file, mode_t mode,
              Environment environment, std::filesystem::path operations = {});

    struct Finding {
        bool idle = false;
        std::chrono::milliseconds idle_time{0};
        cluster::Inactivity kind = cluster::Inactivity::sleeps;
        StackSummary where;
    };

    /// Call after ms_to_next_poll() or when stacks_fd() is readable. Once the program has been idle, every
    /// sample returns a finding, since a report may get lost.
    /// @param output bytes that the program has printed so far
    std::optional<Finding> poll(pid_t guard, pid_t program, std::uintmax_t output);

    int ms_to_next_poll() const;
    /// -1 while no stacks are collected.
    int stacks_fd() const { return collection_ ? collection_->fd() : -1; }

  private:
    bool poll_due(pid_t guard, std::uintmax_t output);
    bool collection_done();

    std::filesystem::path stacks_file_;
    mode_t mode_;
    Environment environment_;
    std::filesystem::path operations_;
    Idleness idleness_;
    Idleness::Clock::time_point next_poll_;
    std::chrono::milliseconds cpu_time_{0};        // of the tree since its start
    std::chrono::milliseconds cpu_time_shown_{0};  // of the processes that existed at the last poll
    std::unique_ptr<StackCollection> collection_;
    std::optional<StackSummary> where_;
    bool reported_idle_ = false;
};

}  // namespace dtrain::worker
