// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <sys/types.h>
#include <vector>

#include "base/files.hpp"

/// Signals that a thread reads at its convenience.
namespace dtrain {

/// SIGTERM, SIGINT, SIGHUP and SIGQUIT, by which users and schedulers ask a process to end, and `more`.
std::vector<int> stop_signals_and(std::vector<int> more = {});

/// Blocks these signals for this thread and the threads it creates, so that they stay pending until taken.
void hold_signals(const std::vector<int>& signals);

/// Whether one of these signals, blocked by this thread, is pending.
bool is_waiting(const std::vector<int>& signals);

struct TakenSignal {
    int number = 0;
    pid_t sender = 0;
};

/// Blocks signals, and returns them in the order of their arrival; several of the same number may be merged.
class SignalSource {
  public:
    explicit SignalSource(const std::vector<int>& signals);

    int fd() const { return fd_.get(); }  ///< readable if a signal is pending
    std::optional<TakenSignal> take() const;

  private:
    FileDescriptor fd_;
};

}  // namespace dtrain
