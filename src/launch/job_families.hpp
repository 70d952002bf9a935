// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/job_view.hpp"
#include "scrape/family.hpp"

/// What Prometheus is told of a job by its launcher. All of it is pure.
namespace dtrain::launch {

/// What stays the same from the job's beginning to its end.
struct JobIdentity {
    std::string name;
    std::string program;
    std::string engine;  ///< "mpirun" or "srun"
    std::string host;    ///< where the launcher runs
    std::string version;
    int max_restarts = 0;
    std::int64_t began_us = 0;  ///< since 1970
};

struct MeasuredRank {
    RankView view;
    bool has_log_here = false;      ///< on the launcher's machine
    std::int64_t started_us = 0;    ///< since 1970, as its node has it; 0: not yet
    std::int64_t heartbeat_us = 0;  ///< when the launcher heard the last one; 0: none yet, or it gives none
};

struct JobSnapshot {
    JobIdentity identity;
    /// waiting: for launchers of other nodes, or between two starts; following: another launcher drives the
    /// job; starting, running, stopping
    std::string state = "waiting";
    int restarts = 0;
    std::int64_t attempt_began_us = 0;  ///< 0: not yet
    std::vector<MeasuredRank> ranks;
    std::map<std::string, std::uint64_t> gpu_errors;  ///< by host, since the job began

    struct Failures {
        std::string host;  ///< of the last one
        std::uint64_t count = 0;
    };
    std::map<int, Failures> failures;  ///< by rank, since the job began
};

/// When a file was written last, in seconds since 1970; nothing when it is not there.
using WrittenAt = std::function<std::optional<double>(const std::string& path)>;

std::vector<scrape::Family> families_of(const JobSnapshot& job, std::int64_t now_us,
                                        const WrittenAt& written_at);

}  // namespace dtrain::launch
