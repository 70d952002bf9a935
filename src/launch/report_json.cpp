// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.hpp"
#include "launch/report.hpp"

namespace dtrain::launch {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(RankEnd::How how) {
    switch (how) {
        case RankEnd::How::exited:
            return "exited";
        case RankEnd::How::trouble:
            return "not_started";
        case RankEnd::How::vanished:
            return "vanished";
        case RankEnd::How::stopped_by_us:
            return "stopped_by_dtrain";
        case RankEnd::How::stopped_by_others:
            return "stopped_by_others";
    }
    return "";
}

const char* name_of(FailureReport::Outcome outcome) {
    switch (outcome) {
        case FailureReport::Outcome::done:
            return "done";
        case FailureReport::Outcome::failed:
            return "failed";
        case FailureReport::Outcome::stopped:
            return "stopped";
    }
    return "";
}

Json signal_json(int signal) {
    return signal != 0 ? Json(signal_name(signal)) : Json();
}

/// Exactly one of exit_code and signal is there, none when nothing is known.
Json with_status(Json json, const ExitStatus& status, bool known) {
    json["exit_code"] = known && status.signal == 0 ? Json(status.code) : Json();
    json["signal"] = known ? signal_json(status.signal) : Json();
    return json;
}

void append_indented(std::string& out, std::string_view text, std::string_view indent) {
    for (const char letter : text) {
        out += letter;
        if (letter == '\n') out += indent;
    }
}

Json rank_json(const RankEnd& end) {
    Json out{{"rank", end.rank},
             {"role", end.facts.role},
             {"number", end.facts.number},
             {"host", end.facts.host},
             {"local_rank", end.facts.local_rank},
             {"gpus", end.facts.gpus},
             {"how", name_of(end.how)}};
    out = with_status(std::move(out), end.status, end.how != RankEnd::How::vanished);
    out["pid"] = end.pid != 0 ? Json(end.pid) : Json();
    out["seconds"] = end.seconds ? Json(*end.seconds) : Json();
    out["log"] = end.facts.log;
    out["detail"] = end.detail;
    out["exception"] = end.exception.empty() ? Json() : Json(end.exception);
    out["consequence"] = end.consequence;
    return out;
}

std::string text_of(const Json& json) {
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

/// One after the other: 80,000 ranks as one tree of JSON would take hundreds of MB.
void append_ranks(std::string& out, const std::vector<RankEnd>& ends) {
    out += '[';
    for (const auto& end : ends) {
        const auto text = text_of(rank_json(end));
        out += &end == ends.data() ? "\n    " : ",\n    ";
        append_indented(out, text, "    ");
    }
    out += ends.empty() ? "]" : "\n  ]";
}

Json lines_json(std::string_view text) {
    auto out = Json::array();
    if (text.ends_with('\n')) text.remove_suffix(1);
    if (!text.empty())
        for (const auto& line : split(text, '\n')) out.push_back(line);
    return out;
}

Json cause_json(const FailureReport& report) {
    if (report.cause() == nullptr) return {};
    auto out = rank_json(*report.cause());
    out["hints"] = report.hints;
    out["last_lines"] = lines_json(report.last_lines);
    return out;
}

}  // namespace

std::string report_json(const FailureReport& report) {
    auto roles = Json::object();
    for (const auto& role : report.roles) roles[role.name] = role.size;
    const Json head{{"outcome", name_of(report.outcome)},
                    {"status", report.status},
                    {"ranks", roles},
                    {"restarts", report.restarts},
                    {"stopped_by", signal_json(report.asked_to_stop_by)},
                    {"stop_reason", report.stop_reason.empty() ? Json() : Json(report.stop_reason)},
                    {"stop_details", report.stop_details},
                    {"lost_node", report.lost_node.empty() ? Json() : Json(report.lost_node)},
                    {"not_started", report.not_started.empty() ? Json() : Json(report.not_started)},
                    {"cause", cause_json(report)}};
    auto mpirun = with_status(Json::object(), report.engine_status, true);
    mpirun["text"] = report.engine_text;

    auto out = text_of(head);
    out.resize(out.size() - 2);  // the line with its closing brace
    constexpr std::size_t of_one_rank = 550;
    out.reserve(out.size() +
                of_one_rank * (report.failed.size() + report.stopped.size() + report.silent.size()));
    for (const auto& [name, ends] :
         {std::pair("failed", &report.failed), {"stopped", &report.stopped}, {"silent", &report.silent}}) {
        out += fmt::format(",\n  \"{}\": ", name);
        append_ranks(out, *ends);
    }
    out += ",\n  \"mpirun\": ";
    append_indented(out, text_of(mpirun), "  ");
    out += "\n}\n";
    return out;
}

}  // namespace dtrain::launch
