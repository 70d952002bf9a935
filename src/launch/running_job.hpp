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

/// Makes the job that this launcher runs visible to `dtrain-launch status` and the like: its record and its
/// socket exist as long as this object. If they cannot be created, the job runs without them.
class RunningJob {
  public:
    /// @param record without the fields that this object fills in: host, process, begin and socket
    RunningJob(const Environment& environment, JobRecord record);
    RunningJob(const RunningJob&) = delete;
    RunningJob& operator=(const RunningJob&) = delete;
    ~RunningJob();

    /// Sets what will run, before it starts.
    void describe(const Plan& plan, std::vector<PlannedRank> ranks, int restarts);

    /// Reports the exit status to clients that wait for the end.
    void finish(int status);

    /// Null if there is no socket.
    ControlSocket* control() { return control_ ? &*control_ : nullptr; }

  private:
    void write();

    std::optional<std::filesystem::path> folder_;
    std::optional<ControlSocket> control_;
    JobRecord record_;
};

/// The fields of a record about the scheduler's job that this process is part of, if any.
JobRecord record_in(const Environment& environment);

}  // namespace dtrain::launch
