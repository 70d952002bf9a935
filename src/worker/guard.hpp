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

/// The guard: a small process between worker and program, in its own session.
///
/// mpirun and srun signal and kill a rank's whole process group; the guard is outside of it. It is the
/// program's parent and a subreaper, so it sees every process that the program ever starts. If the worker
/// dies, the guard reads end-of-file on their socket. Then, or on request, it ends the whole process tree:
/// SIGTERM, grace time, SIGKILL.
namespace dtrain::worker {

struct GuardedProgram {
    std::string executable;  ///< path to execute
    std::vector<std::string> argv;
    Environment environment;
    FileDescriptor output;  ///< the program's stdout and, if it has no `errors`, its stderr
    FileDescriptor errors;  ///< the program's stderr
    std::chrono::milliseconds grace{0};
};

/// An event that the guard reports to the worker.
struct GuardEvent {
    enum class Kind { started, cannot_execute, ended };
    Kind kind = Kind::started;
    pid_t pid = 0;        ///< started: pid of the program
    int error = 0;        ///< cannot_execute: errno
    int wait_status = 0;  ///< ended: status from waitpid
};

/// The worker's interface to the guard.
class Guard {
  public:
    /// Forks the guard, which starts the program.
    explicit Guard(GuardedProgram program);
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

    pid_t pid() const { return pid_; }

    /// Readable when an event has arrived or the guard has exited.
    int fd() const { return socket_.get(); }

    /// The next event; nothing if the guard has exited. Blocks while fd() is not readable.
    std::optional<GuardEvent> read_event();

    /// Forwards a signal to the program itself, not to its children.
    void forward(int signal);

    /// Ends the whole tree: first `signal`, then SIGKILL after the grace time.
    void stop(int signal);

    /// Reaps the guard; false if it did not exit by itself with status 0 (it was killed).
    bool reap();

  private:
    pid_t pid_ = -1;
    FileDescriptor socket_;
};

/// Ends all descendants of this process in the same way, for when the guard was killed. Returns once none is
/// left.
void end_descendants(std::chrono::milliseconds grace);

}  // namespace dtrain::worker
