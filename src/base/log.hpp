// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

/// Messages to the user. Hides spdlog, whose headers take longer to compile than most of our files.
namespace dtrain {

/// Sends messages to stderr as "LEVEL 2026-01-31 12:34:56,789 program] message", the format of Paddle's
/// launcher. Call once, at the beginning of main().
void set_up_log(const std::string& program);

/// Hides messages below DEBUG, INFO, WARNING, ERROR or CRITICAL.
void set_log_level(const std::string& level);

enum class LogLevel { debug, info, warning, error };

bool is_logged(LogLevel level);
void write_log(LogLevel level, std::string_view message);

template <class... Arguments>
void log_at(LogLevel level, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    if (is_logged(level)) write_log(level, fmt::format(text, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
void log_debug(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    log_at(LogLevel::debug, text, std::forward<Arguments>(arguments)...);
}

template <class... Arguments>
void log_info(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    log_at(LogLevel::info, text, std::forward<Arguments>(arguments)...);
}

template <class... Arguments>
void log_warning(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    log_at(LogLevel::warning, text, std::forward<Arguments>(arguments)...);
}

template <class... Arguments>
void log_error(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    log_at(LogLevel::error, text, std::forward<Arguments>(arguments)...);
}

}  // namespace dtrain
