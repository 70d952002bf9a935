// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <poll.h>
#include <string>
#include <vector>

#include "base/signals.hpp"
#include "protocol/command.hpp"

namespace dtrain::worker {

/// Commands that this worker receives by signals and, if the launcher says so, as lines on stdin.
///
/// Signals: USR1 and USR2 are passed on to the program, unless sent by slurmstepd, which signals every
/// process of a step itself. The first ALRM means "stop", a later one "leave". URG, in a step without a
/// launcher, means that another rank has failed (other processes ignore URG by default). ABRT from
/// dtrain-launch's mpirun asks for the program's stacks. TERM, INT, HUP and QUIT end the worker. End-of-file
/// on stdin ends it too, and so does silence on stdin for half a minute, since then nobody is left who could
/// say "leave".
class Commands {
  public:
    enum class Source { signals, signals_of_launcher, signals_and_stdin, signals_in_step };

    /// @param timeout maximum silence on stdin before the launcher is taken for dead
    explicit Commands(Source source, std::chrono::milliseconds timeout = std::chrono::seconds(30));

    /// Descriptors for poll() that become readable when a command has arrived.
    std::array<pollfd, 2> sources() const;

    /// Timeout for poll() in ms: take() must be called at least this often even without input. -1: no limit.
    int ms_to_next_poll() const;

    /// All commands that have arrived; does not block.
    std::vector<cluster::Command> take();

    /// Waits until a command arrives; false if none arrives within `limit`.
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

/// Blocks the signals above until a Commands object takes them.
void block_signals(Commands::Source source);

}  // namespace dtrain::worker
