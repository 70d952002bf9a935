// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/job_view.hpp"

#include <nlohmann/json.hpp>

namespace dtrain::launch {
namespace {

using Json = nlohmann::json;
using cluster::Event;

std::string state_of(const JobState& job, int rank) {
    if (const auto& end = job.end_of(rank)) {
        if (end->kind == Event::Kind::done) return "done";
        return end->kind == Event::Kind::stopped ? "stopped" : "failed";
    }
    if (!job.start_of(rank)) return "starting";
    return job.is_idle(rank) ? "idle" : "running";
}

RankView rank_view(const PlannedRank& planned, const JobState& job, int rank) {
    RankView out{.rank = rank,
                 .role = planned.facts.role,
                 .number = planned.facts.number,
                 .host = planned.facts.host,
                 .state = state_of(job, rank),
                 .log = planned.facts.log,
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

Json to_json_object(const RankView& rank) {
    return {{"rank", rank.rank},     {"role", rank.role},     {"number", rank.number}, {"host", rank.host},
            {"pid", rank.pid},       {"state", rank.state},   {"code", rank.code},     {"signal", rank.signal},
            {"log", rank.log},       {"log_begin", rank.log_begin}};
}

RankView rank_from(const Json& json) {
    RankView out;
    json.at("rank").get_to(out.rank);
    json.at("role").get_to(out.role);
    json.at("number").get_to(out.number);
    json.at("host").get_to(out.host);
    json.at("pid").get_to(out.pid);
    json.at("state").get_to(out.state);
    json.at("code").get_to(out.code);
    json.at("signal").get_to(out.signal);
    json.at("log").get_to(out.log);
    json.at("log_begin").get_to(out.log_begin);
    return out;
}

}  // namespace

std::vector<PlannedRank> planned_ranks(const std::vector<RankFacts>& facts,
                                       const std::vector<std::uintmax_t>& log_begins) {
    std::vector<PlannedRank> out;
    for (std::size_t rank = 0; rank < facts.size(); ++rank)
        out.push_back({.facts = facts[rank], .log_begin = log_begins[rank]});
    return out;
}

JobView view_of(const std::vector<PlannedRank>& planned, const JobState& job, bool stopping, int restarts) {
    JobView out{.state = stopping                                   ? "stopping"
                         : job.up() + job.ended() < job.size()      ? "starting"
                                                                    : "running",
                .restarts = restarts,
                .up = job.up(),
                .done = job.done(),
                .ended = job.ended()};
    for (std::size_t rank = 0; rank < planned.size(); ++rank)
        out.ranks.push_back(rank_view(planned[rank], job, static_cast<int>(rank)));
    return out;
}

std::string to_json(const JobView& view) {
    Json json{{"state", view.state},
              {"restarts", view.restarts},
              {"up", view.up},
              {"done", view.done},
              {"ended", view.ended},
              {"ranks", Json::array()}};
    for (const auto& rank : view.ranks) json["ranks"].push_back(to_json_object(rank));
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<JobView> parse_view(std::string_view text) {
    try {
        const auto json = Json::parse(text);
        JobView out;
        json.at("state").get_to(out.state);
        json.at("restarts").get_to(out.restarts);
        json.at("up").get_to(out.up);
        json.at("done").get_to(out.done);
        json.at("ended").get_to(out.ended);
        for (const auto& rank : json.at("ranks")) out.ranks.push_back(rank_from(rank));
        return out;
    } catch (const Json::exception&) {
        return std::nullopt;
    }
}

}  // namespace dtrain::launch
