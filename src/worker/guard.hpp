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
#include "base/subprocess.hpp"

/// The guard: a small process between worker and program, in a session of its own.
///
/// mpirun and srun signal and kill a rank's whole process group; the guard is outside it. It is the program's
/// parent and a subreaper, so it sees everything the program ever starts. The worker's death reaches it as
/// end-of-file on their socket; then, and when told to, it ends the whole tree: SIGTERM, grace, SIGKILL.
namespace dtrain::worker {

struct GuardedProgram {
    std::string executable;  ///< path to execute
    std::vector<std::string> argv;
    Environment environment;
    FileDescriptor output;  ///< the program's stdout and stderr
    std::chrono::milliseconds grace{0};
};

/// What the guard tells the worker.
struct GuardEvent {
    enum class Kind { started, cannot_execute, ended };
    Kind kind = Kind::started;
    pid_t pid = 0;        ///< started: the program
    int error = 0;        ///< cannot_execute: errno
    int wait_status = 0;  ///< ended: as waitpid gives it
};

/// The worker's side.
class Guard {
  public:
    /// Forks the guard, which starts the program.
    explicit Guard(GuardedProgram program);
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    pid_t pid() const { return pid_; }

    /// Readable when there is news or the guard is gone.
    int fd() const { return socket_.get(); }

    /// The next news, or nothing when the guard is gone. Blocks when fd() is not readable.
    std::optional<GuardEvent> read_event();

    /// Passes a signal on to the program itself, not to what it started.
    void forward(int signal);

    /// Ends the whole tree, with `signal` first and SIGKILL after the grace time.
    void stop(int signal);

    /// Reaps the guard; false when it did not end by itself with 0 (somebody killed it).
    bool reap();

  private:
    pid_t pid_ = -1;
    FileDescriptor socket_;
};

/// Ends all descendants of this process in the same way, for when the guard itself was killed; returns when
/// none is left.
void end_descendants(std::chrono::milliseconds grace);

}  // namespace dtrain::worker
