// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_text.hpp"
#include "base/text.hpp"
#include "launch/outcome/report.hpp"

namespace dtrain::launch {
namespace {

const char* name_of(RankEnd::How how) {
    switch (how) {
        case RankEnd::How::exited:
            return "exited";
        case RankEnd::How::issue:
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

/// Writes the members of an object one by one: a JSON tree of 80,000 ranks would take hundreds of MB, and
/// most of the report's time.
class Members {
  public:
    Members(std::string& out, std::string_view between) : out_(out), between_(between) {}

    /// Appends the member's name; the caller appends its value to the result.
    std::string& value_of(std::string_view name) {
        return out_.append(std::exchange(next_, between_)).append(1, '"').append(name).append("\": ");
    }

    void null(std::string_view name) { value_of(name) += "null"; }
    void number(std::string_view name, auto value) {
        fmt::format_to(std::back_inserter(value_of(name)), "{}", value);
    }
    void number_or_null(std::string_view name, const auto& value) {
        value ? number(name, *value) : null(name);
    }
    void text(std::string_view name, std::string_view value) { append_json_string(value_of(name), value); }
    void text_or_null(std::string_view name, std::string_view value) {
        value.empty() ? null(name) : text(name, value);
    }
    void truth(std::string_view name, bool value) { value_of(name) += value ? "true" : "false"; }
    void numbers(std::string_view name, const std::vector<int>& values) {
        value_of(name) += fmt::format("[{}]", fmt::join(values, ", "));
    }
    void texts(std::string_view name, const std::vector<std::string>& values) {
        auto& out = value_of(name);
        out += '[';
        for (const auto& value : values) {
            if (&value != values.data()) out += ", ";
            append_json_string(out, value);
        }
        out += ']';
    }
    /// Exactly one of exit_code and signal has a value; neither if the status is unknown.
    void status(const ExitStatus& status, bool known) {
        const bool exited = known && status.signal == 0;
        number_or_null("exit_code", exited ? std::optional(status.code) : std::nullopt);
        signal("signal", known ? status.signal : 0);
    }
    void signal(std::string_view name, int signal) {
        text_or_null(name, signal != 0 ? signal_name(signal) : "");
    }

  private:
    std::string& out_;
    std::string_view between_;
    std::string_view next_;
};

/// The error as its rank sent it.
void append_details(std::string& out, const RankError* error) {
    const auto json = error ? to_json(*error, cluster::max_event_error) : "";
    out += json.empty() ? "null" : json;
}

void add_rank(Members& members, const RankEnd& end) {
    members.number("rank", end.rank);
    members.text("role", end.info.role);
    members.number("number", end.info.number);
    members.text("host", end.info.host);
    members.number("local_rank", end.info.local_rank);
    members.texts("gpus", end.info.gpus);
    members.text("how", name_of(end.how));
    members.status(end.status, end.how != RankEnd::How::vanished);
    members.number_or_null("pid", end.pid != 0 ? std::optional(end.pid) : std::nullopt);
    members.number_or_null("seconds", end.seconds);
    members.text("log", end.info.log);
    members.text("detail", end.detail);
    members.text_or_null("exception", end.exception);
    members.text_or_null("error", end.error_message());
    append_details(members.value_of("error_details"), end.error.get());
    members.truth("followed", end.followed);
    members.truth("consequence", end.is_consequence());
}

/// One line per object.
template <class Item, class Add>
void append_objects(std::string& out, const std::vector<Item>& items, const Add& add) {
    out += '[';
    for (const auto& item : items) {
        out += &item == items.data() ? "\n    {" : ",\n    {";
        Members members(out, ", ");
        add(members, item);
        out += '}';
    }
    out += items.empty() ? "]" : "\n  ]";
}

void append_ranks(std::string& out, const std::vector<RankEnd>& ends) {
    append_objects(out, ends, add_rank);
}

std::vector<std::string> lines_of(std::string_view text) {
    if (text.ends_with('\n')) text.remove_suffix(1);
    return text.empty() ? std::vector<std::string>() : split(text, '\n');
}

void append_cause(std::string& out, const FailureReport& report) {
    if (report.cause() == nullptr) {
        out += "null";
        return;
    }
    out += "{\n    ";
    Members members(out, ",\n    ");
    add_rank(members, *report.cause());
    members.texts("hints", report.hints);
    members.texts("last_lines", lines_of(report.last_lines));
    out += "\n  }";
}

void append_roles(std::string& out, const std::vector<FailureReport::Role>& roles) {
    out += '{';
    Members members(out, ", ");
    for (const auto& role : roles) members.number(role.name, role.size);
    out += '}';
}

void add_hang(Members& members, const trace::HangDiagnosis& hang) {
    members.text("cause", trace::name_of(hang.cause));
    members.numbers("culprits", hang.culprits);
    members.text("culprit", hang.culprit);
    members.texts("waiting", hang.waiting);
}

void append_hang(std::string& out, const std::optional<trace::HangDiagnosis>& hang) {
    if (!hang) {
        out += "null";
        return;
    }
    out += '{';
    Members members(out, ", ");
    add_hang(members, *hang);
    out += '}';
}

void add_reported_hang(Members& members, const ReportedHang& hang) {
    members.number("time", static_cast<double>(hang.time_us) / 1e6);
    members.number_or_null("seconds", hang.seconds);
    members.text("text", hang.text);
    add_hang(members, hang.diagnosis);
}

void append_engine(std::string& out, const FailureReport& report) {
    out += '{';
    Members members(out, ", ");
    members.status(report.ending.engine_status, true);
    members.text("text", report.ending.engine_text);
    out += '}';
}

}  // namespace

std::string report_json(const FailureReport& report) {
    constexpr std::size_t of_one_rank = 400;
    std::string out = "{\n  ";
    out.reserve(of_one_rank * (report.failed.size() + report.stopped.size() + report.silent.size()));
    Members members(out, ",\n  ");
    members.text("outcome", name_of(report.outcome));
    members.number("status", report.status);
    append_roles(members.value_of("ranks"), report.roles);
    members.number("restarts", report.ending.restarts);
    members.signal("stopped_by", report.ending.asked_to_stop_by);
    members.text_or_null("stop_reason", report.ending.stop_reason);
    members.texts("stop_details", report.ending.stop_details);
    append_hang(members.value_of("hang"), report.ending.hang);
    append_objects(members.value_of("reported_hangs"), report.ending.reported_hangs, add_reported_hang);
    members.text_or_null("lost_node", report.lost_node);
    members.text_or_null("not_started", report.not_started);
    append_cause(members.value_of("cause"), report);
    append_ranks(members.value_of("failed"), report.failed);
    append_ranks(members.value_of("stopped"), report.stopped);
    append_ranks(members.value_of("silent"), report.silent);
    append_ranks(members.value_of("waited_for"), report.waited_for);
    append_engine(members.value_of("mpirun"), report);
    return out += "\n}\n";
}

}  // namespace dtrain::launch
