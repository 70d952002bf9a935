// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "base/rank_error.hpp"

#include <algorithm>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <stdexcept>
#include <typeinfo>

#include "base/json_text.hpp"
#include "base/text.hpp"

namespace dtrain {
namespace {

using nlohmann::json;

constexpr std::size_t max_message = 2000;
constexpr std::size_t max_name = 200;
constexpr std::int64_t micro = 1'000'000;

std::string type_name(const std::exception& thrown) {
    int failed = 0;
    const std::unique_ptr<char, void (*)(void*)> name(
        abi::__cxa_demangle(typeid(thrown).name(), nullptr, nullptr, &failed), std::free);
    return failed == 0 ? name.get() : typeid(thrown).name();
}

/// nlohmann::json would convert 1.5 to 1, and numbers out of range to arbitrary ones.
template <class Integer>
Integer integer_in(const json& fields, const char* name) {
    const auto& field = fields.at(name);
    const auto value = field.is_number_integer() ? parse_int<Integer>(field.dump()) : std::nullopt;
    if (!value) throw std::invalid_argument(name);
    return *value;
}

std::string line_in(const json& fields, const char* name, std::size_t max) {
    return one_line(fields.at(name).get<std::string>(), max);
}

/// Python's message may have many lines: the first one has its name, the last ones the end of a traceback.
std::string without_middle_lines(const std::string& text, std::size_t max) {
    constexpr std::string_view gap = "\n...\n";
    if (text.size() <= max) return text;
    const auto half = (max - gap.size()) / 2;
    return text.substr(0, half).append(gap).append(text, text.size() - half);
}

std::string shortened(const RankError& error, std::size_t max) {
    return error.source == RankError::Source::torch ? without_middle_lines(error.message, max)
                                                    : one_line(error.message, max);
}

json json_of(const RankError::Operation& operation) {
    auto missing = json::array();
    for (const auto& peer : operation.missing) missing.push_back({{"rank", peer.rank}, {"why", peer.why}});
    return {{"name", operation.name},
            {"number", operation.number},
            {"seconds", operation.seconds},
            {"missing", std::move(missing)}};
}

json json_of(const RankError& error) {
    json fields{{"source", error.source == RankError::Source::torch ? "torch" : "dtrain"},
                {"kind", error.kind},
                {"message", error.message},
                {"for_all", error.for_all},
                {"rank", error.rank},
                {"host", error.host},
                {"pid", error.pid},
                {"time_us", error.time_us}};
    if (error.server) fields["server"] = *error.server;
    if (error.operation) fields["operation"] = json_of(*error.operation);
    return fields;
}

RankError::Operation operation_in(const json& fields) {
    RankError::Operation operation{.name = line_in(fields, "name", max_name),
                                   .number = integer_in<std::uint64_t>(fields, "number"),
                                   .seconds = fields.at("seconds").get<double>(),
                                   .missing = {}};
    for (const auto& peer : fields.at("missing"))
        if (operation.missing.size() < max_named_peers)
            operation.missing.push_back({integer_in<int>(peer, "rank"), line_in(peer, "why", max_name)});
    return operation;
}

RankError error_in(const json& fields) {
    const auto source = fields.at("source").get<std::string>();
    if (source != "torch" && source != "dtrain") throw std::invalid_argument(source);
    RankError error{.source = source == "torch" ? RankError::Source::torch : RankError::Source::dtrain,
                    .kind = line_in(fields, "kind", max_name),
                    .message = fields.at("message").get<std::string>(),
                    .for_all = fields.at("for_all").get<bool>(),
                    .rank = integer_in<int>(fields, "rank"),
                    .host = line_in(fields, "host", max_name),
                    .pid = integer_in<int>(fields, "pid"),
                    .time_us = integer_in<std::int64_t>(fields, "time_us")};
    error.message = shortened(error, max_message);
    if (fields.contains("server")) error.server = integer_in<int>(fields, "server");
    if (fields.contains("operation")) error.operation = operation_in(fields.at("operation"));
    return error;
}

/// "message" has the text and the time, or is the text; the time is a number or the text of one.
RankError error_of_torch(const json& file) {
    const auto& message = file.at("message");
    const bool is_text = message.is_string();
    const auto& text = is_text ? message : message.at("message");
    RankError error{.source = RankError::Source::torch,
                    .message = without_middle_lines(text.get<std::string>(), max_message)};
    const auto& more = is_text ? file : message.value("extraInfo", json::object());
    if (more.contains("timestamp")) {
        const auto& time = more.at("timestamp");
        const auto seconds =
            parse_int<std::int64_t>(time.is_string() ? time.get<std::string>() : time.dump());
        if (seconds && *seconds > 0 && *seconds < INT64_MAX / micro) error.time_us = *seconds * micro;
    }
    return error;
}

template <class Read>
std::optional<RankError> read_error(std::string_view text, const Read& read) {
    try {
        return read_json(text, read);
    } catch (const std::invalid_argument&) {
        return std::nullopt;
    }
}

}  // namespace

RankError error_of(const std::exception& thrown) {
    return {.kind = type_name(thrown), .message = thrown.what()};
}

std::string to_json(const RankError& error, std::size_t max) {
    constexpr std::size_t min_message = 16;
    auto shown = error;
    for (auto length = max; length >= min_message; length /= 2) {
        shown.message = shortened(error, length);
        if (shown.operation)
            for (auto& peer : shown.operation->missing)
                peer.why = one_line(peer.why, std::max(length / 8, min_message));
        shown.kind = one_line(error.kind, std::max(length / 4, min_message));
        shown.host = one_line(error.host, std::max(length / 4, min_message));
        auto line = json_of(shown).dump(-1, ' ', true, json::error_handler_t::replace);
        if (line.size() <= max) return line;
    }
    return "";
}

std::optional<RankError> parse_rank_error(std::string_view text) {
    return read_error(text, error_in);
}

std::string error_file_text(const RankError& error) {
    const json file{
        {"message",
         {{"message", error.message},
          {"extraInfo", {{"py_callstack", ""}, {"timestamp", std::to_string(error.time_us / micro)}}}}},
        {"dtrain", json_of(error)}};
    return dumped(file) + "\n";
}

std::optional<RankError> parse_error_file(std::string_view text) {
    return read_error(text, [](const json& file) {
        return file.contains("dtrain") ? error_in(file.at("dtrain")) : error_of_torch(file);
    });
}

}  // namespace dtrain
