// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/files.hpp"

namespace dtrain {

/// How a process ended: exit code, or the signal that killed it.
struct ExitStatus {
    int code = 0;
    int signal = 0;  ///< 0: it exited by itself

    static ExitStatus of_wait(int wait_status);
    bool success() const { return code == 0 && signal == 0; }
    /// The shell's convention: the code, or 128 + signal.
    int shell_status() const { return signal != 0 ? 128 + signal : code; }
    /// "exit code 7" or "signal SIGSEGV (11)".
    std::string to_string() const;
    friend bool operator==(const ExitStatus&, const ExitStatus&) = default;
};

/// "SIGTERM" for 15; "signal 77" for a signal without a name.
std::string signal_name(int signal);

struct ProcessOptions {
    std::vector<std::string> argv;  ///< argv[0] is looked up in the PATH of `environment`
    Environment environment = Environment::of_this_process();
    bool pipe_output = true;     ///< stdout and stderr through pipes; else inherited
    std::string errors_to = {};  ///< if outputs are inherited: a file for stderr, created or truncated
    bool stdin_from_null = true;
    std::string input;               ///< stdin of a program run by run_and_capture
    bool pipe_input = false;         ///< stdin through a pipe, which is closed with this object
    int parent_death_signal = 0;     ///< sent to the child when this thread dies; 0: none
    int inherited = -1;              ///< a descriptor that the child has, too; -1: none
    bool new_process_group = false;  ///< the child does not receive the terminal's Ctrl-C
};

/// A child process, executed from an argv list and never through a shell. The destructor kills it if it still
/// runs, and reaps it.
class Subprocess {
  public:
    /// @throws UsageError naming the program if it does not exist or cannot be executed.
    explicit Subprocess(const ProcessOptions& options);
    Subprocess(const Subprocess&) = delete;
    Subprocess& operator=(const Subprocess&) = delete;
    ~Subprocess();

    pid_t pid() const { return pid_; }
    int stdin_fd() const { return in_.get(); }
    void close_stdin() { in_.reset(); }
    int stdout_fd() const { return out_.get(); }
    int stderr_fd() const { return err_.get(); }
    void send(int signal) const;

    /// The status if it has ended; does not wait.
    std::optional<ExitStatus> poll();
    ExitStatus wait();

  private:
    pid_t pid_ = -1;
    FileDescriptor in_;
    FileDescriptor out_;
    FileDescriptor err_;
    std::optional<ExitStatus> status_;
};

struct Captured {
    ExitStatus status;
    std::string out;
    std::string err;
};

/// Runs a short command until it ends and returns its output; killed after `limit`.
/// @param limit_of_busy a program that uses a processor, or waits for one, is killed only after this
/// @throws UsageError if the program cannot be executed.
Captured run_and_capture(const ProcessOptions& options, std::chrono::milliseconds limit,
                         std::chrono::milliseconds limit_of_busy = {});

/// The path of program `name` according to this PATH, or nothing.
std::optional<std::string> find_in_path(const std::string& name, const Environment& environment);

}  // namespace dtrain
