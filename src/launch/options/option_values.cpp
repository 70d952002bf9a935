// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <type_traits>

#include <fmt/format.h>

#include <dtrain/error.hpp>

#include "base/parse_seconds.hpp"
#include "base/redact.hpp"
#include "base/text.hpp"
#include "identity/host_name.hpp"
#include "launch/options/option_table.hpp"

namespace dtrain::launch {
namespace {

using Milliseconds = std::chrono::milliseconds;

/// The enumeration of a field that may be optional; void for other fields.
template <class Value>
struct ChosenOf {
    using Type = void;
};
template <Choosable Enum>
struct ChosenOf<Enum> {
    using Type = Enum;
};
template <Choosable Enum>
struct ChosenOf<std::optional<Enum>> {
    using Type = Enum;
};
template <class Value>
concept IsChoice = Choosable<typename ChosenOf<Value>::Type>;

constexpr const char* permissions = "log-mode";
constexpr const char* option_with_host = "host";

[[noreturn]] void refuse(const std::string& source, const std::string& text, const std::string& wanted) {
    throw UsageError(fmt::format("{}{}{}: it must be {}; see dtrain-launch --help", source,
                                 source.ends_with('=') ? "" : " ", text.empty() ? "\"\"" : text, wanted));
}

/// Like Python's strtobool, with which Paddle parses switches.
bool as_bool(const std::string& text, const std::string& source) {
    const auto lower = lower_case(text);
    for (const char* yes : {"y", "yes", "t", "true", "on", "1"})
        if (lower == yes) return true;
    for (const char* no : {"n", "no", "f", "false", "off", "0"})
        if (lower == no) return false;
    refuse(source, text, "true or false");
}

int as_int(const OptionRow& row, const std::string& text, const std::string& source) {
    const std::string digits(trimmed(text));
    const auto number = parse_int(digits);
    if (!number || *number < row.min || *number > row.max)
        refuse(source, text,
               row.max == OptionRow{}.max ? fmt::format("a whole number of at least {}", row.min)
                                          : fmt::format("a whole number in {}..{}", row.min, row.max));
    return *number;
}

int as_permissions(const std::string& text, const std::string& source) {
    const auto mode = parse_int<unsigned>(text, 8);
    if (!mode || *mode > 0777) refuse(source, text, "permissions in octal, such as 600 or 0640");
    if ((*mode & 0600) != 0600) refuse(source, text, "permissions that let the owner read and write");
    return static_cast<int>(*mode);
}

Milliseconds as_seconds(const OptionRow& row, const std::string& text, const std::string& source) {
    const auto time = parse_seconds(text, std::chrono::seconds(row.max));
    if (!time) refuse(source, text, fmt::format("a number of seconds in 0..{}, such as 10 or 0.5", row.max));
    return *time;
}

cluster::HangLimit as_hang_limit(const std::string& text, const std::string& source) {
    const auto limit = cluster::parse_hang_limit(text);
    if (!limit) refuse(source, text, cluster::hang_limit_choices());
    return *limit;
}

std::uintmax_t as_bytes(const std::string& text, const std::string& source) {
    constexpr std::uintmax_t min = 4096;
    constexpr std::string_view units = "KMGT";
    std::string_view digits = text;
    std::uintmax_t factor = 1;
    if (!digits.empty() && (digits.back() == 'B' || digits.back() == 'b')) digits.remove_suffix(1);
    if (!digits.empty()) {
        const auto unit =
            units.find(static_cast<char>(std::toupper(static_cast<unsigned char>(digits.back()))));
        if (unit != std::string_view::npos) {
            factor = std::uintmax_t{1} << (10 * (unit + 1));
            digits.remove_suffix(1);
        }
    }
    const auto number = parse_int<std::uintmax_t>(digits);
    if (!number || *number > UINTMAX_MAX / factor || *number * factor < min)
        refuse(source, text, "a size of at least 4K, such as 100M");
    return *number * factor;
}

std::string as_text(const OptionRow& row, const std::string& text, const std::string& source) {
    if (text.find('\0') != std::string::npos) refuse(source, "with a zero byte", "text");
    if (!row.choices.empty() && std::find(row.choices.begin(), row.choices.end(), text) == row.choices.end())
        refuse(source, text, fmt::format("one of {}", fmt::join(row.choices, ", ")));
    if (row.name == option_with_host && !cluster::is_host(text))
        refuse(source, text, "this node's address: an IPv4 or IPv6 address, or a host name");
    return text;
}

}  // namespace

void assign(Options& options, const OptionRow& row, const std::string& text, const std::string& source) {
    std::visit(
        [&](auto field) {
            if constexpr (!std::is_same_v<decltype(field), std::monostate>) {
                using Value = std::remove_reference_t<decltype(options.*field)>;
                auto& value = options.*field;
                if constexpr (std::is_same_v<Value, bool>)
                    value = as_bool(text, source);
                else if constexpr (std::is_same_v<Value, int> || std::is_same_v<Value, std::optional<int>>)
                    value =
                        row.name == permissions ? as_permissions(text, source) : as_int(row, text, source);
                else if constexpr (std::is_same_v<Value, Milliseconds>)
                    value = as_seconds(row, text, source);
                else if constexpr (std::is_same_v<Value, std::optional<std::uintmax_t>>)
                    value = as_bytes(text, source);
                else if constexpr (std::is_same_v<Value, std::optional<cluster::HangLimit>>)
                    value = as_hang_limit(text, source);
                else if constexpr (std::is_same_v<Value, std::vector<std::string>>)
                    value = split(as_text(row, text, source), between_values);
                else if constexpr (Choosable<Value>)
                    value = *choice_of<Value>(as_text(row, text, source));
                else if constexpr (IsChoice<Value>)
                    value = choice_of<typename ChosenOf<Value>::Type>(as_text(row, text, source));
                else
                    value = as_text(row, text, source);
            }
        },
        row.field);
}

std::string value_text(const Options& options, const OptionRow& row) {
    return std::visit(
        [&](auto field) -> std::string {
            if constexpr (std::is_same_v<decltype(field), std::monostate>) {
                return "None";
            } else {
                using Value = std::remove_cvref_t<decltype(options.*field)>;
                const auto& value = options.*field;
                if constexpr (std::is_same_v<Value, bool>)
                    return value ? "True" : "False";
                else if constexpr (std::is_same_v<Value, int>)
                    return row.name == permissions ? fmt::format("0{:o}", value) : std::to_string(value);
                else if constexpr (std::is_same_v<Value, Milliseconds>)
                    return seconds_text(value);
                else if constexpr (std::is_same_v<Value, std::string>)
                    return value;
                else if constexpr (std::is_same_v<Value, std::vector<std::string>>)
                    return join(redacted_arguments(value), " ");
                else if constexpr (Choosable<Value>)
                    return to_string(value);
                else if constexpr (std::is_same_v<Value, std::optional<cluster::HangLimit>>)
                    return value ? to_string(*value) : "None";
                else if constexpr (IsChoice<Value>)
                    return value ? to_string(*value) : "";
                else
                    return value ? fmt::format("{}", *value) : "None";
            }
        },
        row.field);
}

}  // namespace dtrain::launch
