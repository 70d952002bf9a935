// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <poll.h>
#include <string>
#include <vector>

#include "base/signals.hpp"
#include "cluster/command.hpp"

namespace dtrain::worker {

/// What this worker is told from outside, by signals and, where the launcher says so, by lines on stdin.
///
/// Signals: USR1 and USR2 are the program's, unless slurmstepd sent them, which signals every process of a
/// step by itself; the first ALRM means "stop", a later one "leave"; URG in a step without a launcher, that
/// another rank has failed (processes that do not know of it ignore it); ABRT of dtrain-launch's mpirun, that
/// somebody wants to see the program's stacks; TERM, INT, HUP and QUIT mean the
/// end. The end of stdin means the same, and so does its silence for half a minute: nobody is there any more
/// who could say "leave".
class Commands {
  public:
    enum class Source { signals, signals_of_launcher, signals_and_stdin, signals_in_step };

    /// @param timeout with a launcher that says nothing on stdin
    explicit Commands(Source source, std::chrono::milliseconds timeout = std::chrono::seconds(30));

    /// For poll(): what becomes readable when there is something to take.
    std::array<pollfd, 2> sources() const;

    /// Limit for poll(): take() wants to be called that often, also when nothing comes; -1: not at all.
    int ms_to_next_poll() const;

    /// Everything that has come; does not wait.
    std::vector<cluster::Command> take();

    /// Waits until something has come; false when nothing has within `limit`.
    bool wait(std::chrono::milliseconds limit) const;

  private:
    void take_signals(std::vector<cluster::Command>& commands);
    void take_lines(std::vector<cluster::Command>& commands);
    void note_silence(std::vector<cluster::Command>& commands);
    void give_up_lines(std::vector<cluster::Command>& commands);

    SignalSource signals_;
    int lines_ = -1;
    std::string unfinished_line_;
    bool alarmed_ = false;
    std::chrono::milliseconds timeout_;
    std::chrono::milliseconds silence_{0};
    std::chrono::steady_clock::time_point last_poll_ = std::chrono::steady_clock::now();
};

/// Holds the signals above back until an Commands takes them.
void hold_signals(Commands::Source source);

}  // namespace dtrain::worker
