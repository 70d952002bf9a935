// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launch/outcome/job_state.hpp"
#include "launch/outcome/report.hpp"

/// A launcher's description of its job for clients. Pure.
namespace dtrain::launch {

/// The plan's info about a rank, and where its log began.
struct PlannedRank {
    RankInfo info;
    std::uintmax_t log_begin = 0;  ///< bytes of earlier runs; known only for logs on this machine
};

std::vector<PlannedRank> planned_ranks(const std::vector<RankInfo>& info,
                                       const std::vector<std::uintmax_t>& log_begins);

struct RankView {
    int rank = 0;
    std::string role;
    int number = 0;  ///< index within its role
    std::string host;
    int pid = 0;        ///< of its program; 0: unknown
    std::string state;  ///< starting, running, idle, done, failed, stopped
    int code = 0;       ///< exit code of a rank that failed or was stopped
    int signal = 0;
    std::string log;  ///< on that host
    std::uintmax_t log_begin = 0;
    friend bool operator==(const RankView&, const RankView&) = default;
};

bool has_not_started(const RankView& rank);

/// Whether it has not ended.
bool is_alive(const RankView& rank);

struct JobView {
    std::string state;  ///< starting, running, stopping
    int restarts = 0;
    int up = 0, done = 0, ended = 0;
    std::vector<RankView> ranks;
    friend bool operator==(const JobView&, const JobView&) = default;
};

RankView rank_view(const PlannedRank& planned, const JobState& job, int rank);

JobView view_of(const std::vector<PlannedRank>& planned, const JobState& job, bool stopping, int restarts);

std::string to_json(const JobView& view);
std::optional<JobView> parse_view(std::string_view json);

}  // namespace dtrain::launch
