// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "protocol/event.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/subprocess.hpp"
#include "base/text.hpp"
#include "identity/host_name.hpp"
#include "protocol/checked_line.hpp"

namespace dtrain::cluster {
namespace {

// JSON may escape one byte of the text as six; host and processors are plain ASCII. The line must stay below
// PIPE_BUF (4096).
constexpr std::size_t max_text_beside_error = 250;
static_assert(max_event_text * 6 + 1000 < 4096);
static_assert(max_text_beside_error * 6 + max_event_error + 1000 < 4000);
static_assert(max_event_state + 600 <= 4000);
static_assert(max_shown_json + 600 <= 4000);
constexpr std::size_t max_line = 4000;

constexpr std::array<std::string_view, 17> kind_names{
    "started", "exited", "stopped", "done",       "issue", "port_taken", "warning",   "idle", "active",
    "output",  "alive",  "stacks",  "stacks_end", "gpus",  "console",    "gpu_error", "state"};

/// nlohmann::json converts any number to an integer: 1.5 to 1, and out-of-range numbers to arbitrary values.
template <class Integer>
bool get_integer(const nlohmann::json& fields, const char* name, Integer& out) {
    const auto& field = fields.at(name);
    const auto value = field.is_number_integer() ? parse_int<Integer>(field.dump()) : std::nullopt;
    out = value.value_or(0);
    return value.has_value();
}

std::string encode_with(const Event& event, const std::string& text) {
    nlohmann::json fields{
        {"kind", kind_names[static_cast<std::size_t>(event.kind)]},
        {"rank", event.rank},
        {"host", event.host.substr(0, max_host_name)},
        {"pid", event.pid},
        {"code", event.code},
        {"signal", event.signal},
        {"time_us", event.time_us},
        {"idle_ms", event.idle_ms},
        {"cpus", event.cpus.substr(0, max_event_text)},
        {"text", text},
    };
    if (event.error.size() <= max_event_error)
        if (auto error = nlohmann::json::parse(event.error, nullptr, false); error.is_object())
            fields["error"] = std::move(error);
    if (event.state.size() <= max_event_state)
        if (auto state = nlohmann::json::parse(event.state, nullptr, false); state.is_object())
            fields["state"] = std::move(state);
    const auto json = fields.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
    return checked_line(json);
}

/// Keeps the end of a long text, which is more useful than its beginning; how much fits is only known after
/// encoding.
std::string encode_output(const Event& event) {
    auto text = event.text.substr(event.text.size() - std::min(event.text.size(), max_line));
    for (;;) {
        auto line = encode_with(event, text);
        if (line.size() <= max_line) return line;
        text.erase(0, std::max<std::size_t>(1, (line.size() - max_line) / 6));
    }
}

/// What a rank with this Inactivity does not do.
std::string_view lack_of(int inactivity) {
    switch (static_cast<Inactivity>(inactivity)) {
        case Inactivity::waits:
            return "no operation that ended";
        case Inactivity::computes:
            return "no operation";
        case Inactivity::sleeps:
            break;
    }
    return "no processor time";
}

std::string said_in(const Event& event) {
    const auto error = error_of(event);
    return error ? "; its error: " + one_line(error->message) : "";
}

}  // namespace

std::string encode(const Event& event) {
    if (event.kind == Event::Kind::output) return encode_output(event);
    const auto max_text = event.kind == Event::Kind::console ? max_shown_json : max_event_text;
    auto line = encode_with(event, event.text.substr(0, max_text));
    return line.size() <= max_line ? line : encode_with(event, event.text.substr(0, max_text_beside_error));
}

std::optional<Event> decode(std::string_view line) {
    const auto json = content_of_checked(line);
    return json ? parse_event(*json) : std::nullopt;
}

std::optional<Event> parse_event(std::string_view json) {
    try {
        const auto fields = nlohmann::json::parse(json);
        Event event;
        const auto kind = fields.at("kind").get<std::string>();
        const auto name = std::find(kind_names.begin(), kind_names.end(), kind);
        if (name == kind_names.end()) return std::nullopt;
        event.kind = static_cast<Event::Kind>(name - kind_names.begin());
        if (!get_integer(fields, "rank", event.rank) || !get_integer(fields, "pid", event.pid) ||
            !get_integer(fields, "code", event.code) || !get_integer(fields, "signal", event.signal) ||
            !get_integer(fields, "time_us", event.time_us) || !get_integer(fields, "idle_ms", event.idle_ms))
            return std::nullopt;
        fields.at("host").get_to(event.host);
        fields.at("cpus").get_to(event.cpus);
        fields.at("text").get_to(event.text);
        if (fields.contains("error"))
            event.error = fields.at("error").dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
        if (fields.contains("state"))
            event.state = fields.at("state").dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        return event;
    } catch (const nlohmann::json::exception&) {
        return std::nullopt;
    }
}

std::optional<RankError> error_of(const Event& event) {
    return event.error.empty() ? std::nullopt : parse_rank_error(event.error);
}

std::string to_sentence(const Event& event) {
    auto who = fmt::format("rank {} on {}", event.rank, event.host);
    const auto how = ExitStatus{.code = event.code, .signal = event.signal}.to_string();
    switch (event.kind) {
        case Event::Kind::started:
            return fmt::format("{}: started, pid {}, cores {}", who, event.pid, event.cpus);
        case Event::Kind::exited:
            return fmt::format("{}: the program ended with {}{}{}{}", who, how,
                               event.text.empty() ? "" : "; ", event.text, said_in(event));
        case Event::Kind::stopped:
            return fmt::format("{}: the program was stopped ({})", who, how);
        case Event::Kind::done:
            return fmt::format("{}: done", who);
        case Event::Kind::issue:
        case Event::Kind::port_taken:
        case Event::Kind::warning:
        case Event::Kind::console:
        case Event::Kind::gpu_error:
            return fmt::format("{}: {}", who, event.text);
        case Event::Kind::idle:
            return fmt::format("{}: no output and {} for {:.0f} s, in {}", who, lack_of(event.code),
                               static_cast<double>(event.idle_ms) / 1000, event.text);
        case Event::Kind::active:
            return fmt::format("{}: active again", who);
        case Event::Kind::output:
            return fmt::format("{}: the end of its log is: {}", who, event.text);
        case Event::Kind::alive:
            return fmt::format("{}: alive", who);
        case Event::Kind::stacks:
            return fmt::format("{}: it is in {}", who, event.text);
        case Event::Kind::stacks_end:
            return fmt::format("{}: its stacks are in {}", who, event.text);
        case Event::Kind::state:
            return fmt::format("{}: its state is {}", who, event.state);
        case Event::Kind::gpus:
            return fmt::format("{}: its GPUs were used so: {}", who, event.text);
    }
    return who;
}

}  // namespace dtrain::cluster
