// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <dtrain/environment.hpp>

#include "launch/control_socket.hpp"
#include "launch/job_record.hpp"
#include "launch/plan.hpp"

namespace dtrain::launch {

/// The job that this launcher drives, as `dtrain-launch status` and the like find it: its record and its
/// socket, there as long as the object lives. Where they cannot be made the job runs without.
class RunningJob {
  public:
    /// @param record without what this object knows itself: host, process, begin and socket
    RunningJob(const Environment& environment, JobRecord record);
    RunningJob(const RunningJob&) = delete;
    RunningJob& operator=(const RunningJob&) = delete;
    ~RunningJob();

    /// Tells what will run, before it starts.
    void describe(const Plan& plan, std::vector<PlannedRank> ranks, int restarts);

    /// Tells those who wait for the end.
    void finish(int status);

    /// Null where there is none.
    ControlSocket* control() { return control_ ? &*control_ : nullptr; }

  private:
    void write();

    std::optional<std::filesystem::path> folder_;
    std::optional<ControlSocket> control_;
    JobRecord record_;
};

/// What a record says of the scheduler's job that this process is a part of, if it is.
JobRecord record_in(const Environment& environment);

}  // namespace dtrain::launch
