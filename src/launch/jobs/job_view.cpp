// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/jobs/job_view.hpp"

#include "base/json_text.hpp"

namespace dtrain::launch {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankView, rank, role, number, host, pid, state, code, signal, log,
                                   log_begin)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobView, state, restarts, up, done, ended, ranks)

namespace {

using cluster::Event;

std::string state_of(const JobState& job, int rank) {
    if (const auto& end = job.end_of(rank)) {
        if (end->kind == Event::Kind::done) return "done";
        return end->kind == Event::Kind::stopped ? "stopped" : "failed";
    }
    if (!job.start_of(rank)) return "starting";
    return job.is_idle(rank) ? "idle" : "running";
}

}  // namespace

bool has_not_started(const RankView& rank) {
    return rank.state == "starting";
}

bool is_alive(const RankView& rank) {
    return rank.state == "running" || rank.state == "idle" || has_not_started(rank);
}

RankView rank_view(const PlannedRank& planned, const JobState& job, int rank) {
    RankView out{.rank = rank,
                 .role = planned.info.role,
                 .number = planned.info.number,
                 .host = planned.info.host,
                 .state = state_of(job, rank),
                 .log = planned.info.log,
                 .log_begin = planned.log_begin};
    if (const auto& start = job.start_of(rank)) {
        out.pid = start->pid;
        out.host = start->host;
    }
    if (const auto& end = job.end_of(rank)) {
        out.code = end->code;
        out.signal = end->signal;
    }
    return out;
}

std::vector<PlannedRank> planned_ranks(const std::vector<RankInfo>& info,
                                       const std::vector<std::uintmax_t>& log_begins) {
    std::vector<PlannedRank> out;
    for (std::size_t rank = 0; rank < info.size(); ++rank)
        out.push_back({.info = info[rank], .log_begin = log_begins[rank]});
    return out;
}

JobView view_of(const std::vector<PlannedRank>& planned, const JobState& job, bool stopping, int restarts) {
    JobView out{.state = stopping                 ? "stopping"
                         : job.all_have_started() ? "running"
                                                  : "starting",
                .restarts = restarts,
                .up = job.up(),
                .done = job.done(),
                .ended = job.ended()};
    for (std::size_t rank = 0; rank < planned.size(); ++rank)
        out.ranks.push_back(rank_view(planned[rank], job, static_cast<int>(rank)));
    return out;
}

std::string to_json(const JobView& view) {
    return dumped(view);
}

std::optional<JobView> parse_view(std::string_view text) {
    return read_json(text, [](const nlohmann::json& json) { return json.get<JobView>(); });
}

}  // namespace dtrain::launch
