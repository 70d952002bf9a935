// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dtrain/cluster.hpp>
#include <dtrain/environment.hpp>

#include "scheduler/allocation.hpp"
#include "scheduler/job_request.hpp"
#include "scheduler/queued_job.hpp"

namespace dtrain::scheduler {

/// Content of a file, or nothing if it cannot be read.
using ReadFile = std::function<std::optional<std::string>(const std::string& path)>;

/// One of several launchers that a scheduler's own launcher started side by side.
struct LauncherTask {
    std::string started_by;  ///< "srun"
    int rank = 0;
    int count = 1;
    std::vector<std::string> hosts;
};

/// A batch system: what it allocated to this job, and its queue. Objects keep no state; registry.hpp has one
/// of each. Another scheduler is a class derived from this one in a folder of its own, and a line in
/// registry.cpp.
class Scheduler {
  public:
    Scheduler() = default;
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;
    virtual ~Scheduler() = default;

    /// Value of --scheduler, and the scheduler's name in records of jobs: "slurm".
    virtual std::string_view name() const = 0;
    /// The name that people use: "Slurm".
    virtual std::string_view title() const = 0;

    // What a process inside of a job sees.

    /// The job that this process is part of; "" outside of a job.
    virtual std::string job_id(const Environment& environment) const = 0;

    /// The nodes of that job, if this is the process that may start ranks on them.
    /// @throws UsageError naming the variable or file that is wrong
    virtual std::optional<Allocation> allocation(const Environment& environment,
                                                 const ReadFile& read_file) const = 0;

    /// Not set unless the scheduler's own launcher started this process.
    virtual std::optional<LauncherTask> own_task(const Environment&) const { return std::nullopt; }

    /// Warnings for a job whose allocation is used.
    virtual std::vector<std::string> warnings(const Environment&) const { return {}; }

    /// The program that starts a daemon on another node under the scheduler's control; "" if it has none, and
    /// Open MPI's own support or ssh is used.
    virtual std::string remote_shell(const Environment&, const ReadFile&) const { return {}; }

    /// The job's nodes in the order of ranks, for an MPI that does not tell them.
    virtual std::optional<std::vector<cluster::HostSlots>> hosts_of_ranks(const Environment&,
                                                                          const ReadFile&) const {
        return std::nullopt;
    }

    // The queue.

    /// The program that takes batch scripts: "sbatch".
    virtual std::string_view submit_program() const = 0;

    /// dtrain-launch's option with more options for that program: "--sbatch"; "" if there is none.
    virtual std::string_view further_option() const { return {}; }

    /// The batch script. Pure.
    /// @throws UsageError naming an option that cannot be used in a script
    virtual std::string script(const JobRequest& request) const = 0;

    /// Puts the script into the queue. Returns the job's number.
    /// @throws UsageError with the scheduler's reason if it refuses
    virtual std::string submit(const std::string& script, const JobRequest& request,
                               const Environment& environment) const = 0;

    /// Where the script's output goes. Pure.
    virtual std::string output_file(const JobRequest& request, const std::string& number) const = 0;

    /// The jobs that the queue shows, at least those in `numbers` that it has; nothing if it does not answer.
    virtual std::optional<std::vector<QueuedJob>> queued(const std::vector<std::string>& numbers,
                                                         const Environment& environment) const = 0;

    /// The command that removes a job from the queue or ends it.
    /// @param gently send its script SIGTERM, if the scheduler can do that
    virtual std::vector<std::string> cancel_command(const std::string& number, bool gently) const = 0;

    /// The command that runs `args` on a node of a running job; empty if the scheduler cannot do that from
    /// outside of the job.
    virtual std::vector<std::string> command_on_node(const std::string& /*host*/,
                                                     const std::string& /*number*/,
                                                     const std::vector<std::string>& /*args*/) const {
        return {};
    }
};

}  // namespace dtrain::scheduler
