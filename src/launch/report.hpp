// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/subprocess.hpp"
#include "launch/job_state.hpp"

namespace dtrain::launch {

/// How a job ended, for people and for the exit status. Pure.
struct Verdict {
    int status = 0;
    std::string text;  ///< lines for the console; empty after success
};

struct Ending {
    ExitStatus mpirun;
    int asked_to_stop_by = 0;  ///< the signal that dtrain-launch itself got; 0: none
    std::string mpirun_text;   ///< what mpirun had to say
    std::string log_dir;
    std::string log_tail;  ///< the last lines of the log of the rank that failed first
};

/// The rank that mpirun's own message names ("process rank 1 with PID 77 on node a exited on signal 9"), if
/// any.
std::optional<int> rank_named_by_mpirun(const std::string& mpirun_text);

/// The rank whose failure is the cause: the first by time; but when a worker vanished without a word, the
/// one that mpirun names, because mpirun then stops the others.
std::optional<int> culprit(const JobState& job, const Ending& ending);

/// The cause with rank, host, how it ended, and its log; then Paddle's ABORT line with all failed ranks; then
/// which ranks were stopped because of it. The exit status is the first failure's; after a signal to
/// dtrain-launch 128 + signal.
Verdict judge(const JobState& job, const Ending& ending);

/// The last `lines` lines of a log that hold anything.
std::string last_lines(const std::string& log, std::size_t lines);

}  // namespace dtrain::launch
