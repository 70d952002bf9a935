// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launch/jobs/job_view.hpp"
#include "scrape/family.hpp"

/// The metrics of a job that its launcher exports to Prometheus. Pure.
namespace dtrain::launch {

/// What does not change during the job.
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
    bool has_local_log = false;     ///< on the launcher's machine
    std::int64_t started_us = 0;    ///< since 1970, by its node's clock; 0: not started yet
    std::int64_t heartbeat_us = 0;  ///< when the launcher received the last heartbeat; 0: none
};

struct JobSnapshot {
    JobIdentity identity;
    /// waiting: for launchers of other nodes, or between two starts; following: another launcher coordinates
    /// the job; starting, running, stopping
    std::string state = "waiting";
    int restarts = 0;
    std::int64_t attempt_began_us = 0;  ///< 0: not started yet
    std::vector<MeasuredRank> ranks;
    std::map<std::string, std::uint64_t> gpu_errors;  ///< by host, since the job began

    struct Failures {
        std::string host;  ///< host of the last failure
        std::uint64_t count = 0;
    };
    std::map<int, Failures> failures;  ///< by rank, since the job began
};

/// Time of a file's last modification, in seconds since 1970; nothing if the file does not exist.
using WrittenAt = std::function<std::optional<double>(const std::string& path)>;

std::vector<scrape::Family> families_of(const JobSnapshot& job, std::int64_t now_us,
                                        const WrittenAt& written_at);

}  // namespace dtrain::launch
