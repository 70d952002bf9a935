// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <sys/types.h>
#include <vector>

#include "base/files.hpp"

/// Signals that are read when a thread has time for them.
namespace dtrain {

/// SIGTERM, SIGINT, SIGHUP and SIGQUIT, by which users and schedulers ask a process to end, and `more`.
std::vector<int> stop_signals_and(std::vector<int> more = {});

/// From here on these signals wait for this thread to take them, and for threads that it makes.
void hold_signals(const std::vector<int>& signals);

/// One of these, held by this thread, waits to be taken.
bool is_waiting(const std::vector<int>& signals);

struct TakenSignal {
    int number = 0;
    pid_t sender = 0;
};

/// Holds signals, and gives them out in the order of their arrival; several of one kind may be one.
class SignalSource {
  public:
    explicit SignalSource(const std::vector<int>& signals);

    int fd() const { return fd_.get(); }  ///< readable when there is one
    std::optional<TakenSignal> take() const;

  private:
    FileDescriptor fd_;
};

}  // namespace dtrain
