// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "base/manual_page.hpp"
#include "cluster/rank_list.hpp"
#include "worker/log_policy.hpp"

namespace dtrain::worker {

/// What one dtrain-worker was asked to do.
struct Options {
    enum class Task {
        native_job,
        supervise,
        info  ///< what the native program prints: the machine, the manual page, a completion script
    };
    Task task = Task::native_job;
    std::vector<std::string> command;  ///< the program and its arguments, or those of the native job
    std::string log_dir = "log";
    LogPolicy log;
    /// Whose output is on the console too; not given: that of the rank that speaks for the job.
    std::optional<cluster::RankList> show;
    std::vector<std::string> wrap;  ///< arguments that stand before the command
    cluster::RankList wrap_ranks = cluster::RankList::all();
    std::string setup;                          ///< shell commands before the program
    std::chrono::milliseconds hang_timeout{0};  ///< 0: a program may be idle
    std::chrono::milliseconds grace{0};
    std::optional<int> start_port;
    std::string role;  ///< "server", "worker", "heter_worker"; "": told by the rank, or a trainer
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

/// The part of the manual page that is about dtrain-worker itself; the options of a job are for the native
/// program to add.
ManualPage manual_page();

}  // namespace dtrain::worker
