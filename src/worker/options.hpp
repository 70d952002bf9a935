// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/manual_page.hpp"
#include "protocol/hang_limit.hpp"
#include "protocol/rank_list.hpp"
#include "worker/log_policy.hpp"

namespace dtrain::worker {

/// The command line of dtrain-worker.
struct Options {
    enum class Task {
        native_job,
        supervise,
        info  ///< output of the native program: machine report, manual page, completion script
    };
    Task task = Task::native_job;
    std::vector<std::string> command;  ///< the program and its arguments, or the arguments of the native job
    std::string log_dir = "log";
    LogPolicy log;
    /// Ranks whose output is also shown on the console; not set: the rank that speaks for the job.
    std::optional<cluster::RankList> show;
    std::vector<std::string> wrap;  ///< arguments to put before the command
    cluster::RankList wrap_ranks = cluster::RankList::all();
    std::string setup;                             ///< shell commands to run before the program
    std::optional<cluster::HangLimit> hang_limit;  ///< none: learned if a launcher hears of it, else never
    bool dumps_operations = false;                 ///< into <log>.operations, when the program is idle
    bool trace_mpi = false;                        ///< record the program's calls of MPI
    std::chrono::milliseconds grace{0};
    std::optional<int> start_port;
    std::string role;  ///< "server", "worker", "heter_worker"; "": derived from the rank, or trainer
    bool bind = true;
};

struct ParsedOptions {
    Options options;
    std::optional<std::string> text;  ///< --help, --version: print this and exit with 0
};

/// `dtrain-worker [options] -- program args...`, `dtrain-worker [options] [job.toml] [job options]`,
/// `dtrain-worker --info[=json]`. Pure.
/// @throws UsageError with one line.
ParsedOptions parse_options(const std::vector<std::string>& arguments, const Environment& environment);

/// The part of the manual page about dtrain-worker itself; the native program adds the job options.
ManualPage manual_page();

}  // namespace dtrain::worker
