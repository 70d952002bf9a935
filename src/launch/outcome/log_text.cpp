// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "launch/outcome/log_text.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace dtrain::launch {
namespace {

constexpr std::size_t max_shown_line = 2000;

std::string cut(std::string_view line, std::size_t length) {
    return line.size() <= length ? std::string(line) : std::string(line.substr(0, length)) + " ...";
}

/// The part of a line with carriage returns that remains visible on a terminal.
std::string_view shown_part(std::string_view line) {
    while (line.ends_with('\r')) line.remove_suffix(1);
    const auto overwritten = line.rfind('\r');
    return overwritten == std::string_view::npos ? line : line.substr(overwritten + 1);
}

std::string_view without_rank_prefix(std::string_view line) {
    if (!line.starts_with("[rank")) return line;
    const auto end = line.find("]: ");
    if (end == std::string_view::npos || !parse_int(line.substr(5, end - 5))) return line;
    return line.substr(end + 3);
}

/// Matches "  File "a.py", line 3, in f", which is always indented.
bool is_frame(std::string_view line) {
    const auto begin = line.find_first_not_of(' ');
    return begin != 0 && begin != std::string_view::npos && line.substr(begin).starts_with("File \"");
}

bool is_letter_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/// "ValueError: words", "torch.cuda.OutOfMemoryError: words", "KeyboardInterrupt".
bool names_exception(std::string_view line) {
    const auto end = std::find_if_not(line.begin(), line.end(), is_letter_of_name);
    const auto name = line.substr(0, static_cast<std::size_t>(end - line.begin()));
    const auto rest = line.substr(name.size());
    return !name.empty() && (rest.empty() || rest.starts_with(": ") || rest == ":");
}

}  // namespace

std::string last_lines(std::string_view log, std::size_t lines) {
    const auto all = split(log, '\n');
    const auto holds_something = [](const std::string& line) { return !trimmed(line).empty(); };
    const auto first = std::find_if(all.begin(), all.end(), holds_something);
    const auto end = std::find_if(all.rbegin(), all.rend(), holds_something).base();
    const auto shown = std::min(end - std::min(first, end), static_cast<std::ptrdiff_t>(lines));
    std::string out;
    for (auto line = end - shown; line < end; ++line) out += cut(shown_part(*line), max_shown_line) + "\n";
    return out;
}

std::optional<std::string> exception_line(std::string_view log) {
    const auto lines = split(log, '\n');
    for (auto frame = lines.size(); frame-- > 0;) {
        if (!is_frame(without_rank_prefix(lines[frame]))) continue;
        for (auto next = frame + 1; next < lines.size(); ++next) {
            const auto line = without_rank_prefix(lines[next]);
            if (line.empty() || line.starts_with(' ')) continue;
            if (names_exception(trimmed(line))) return cut(trimmed(line), max_exception);
            break;
        }
    }
    return std::nullopt;
}

std::optional<std::string> loader_complaint(std::string_view log) {
    constexpr std::string_view mark = ": error while loading shared libraries: ";
    const auto lines = split(log, '\n');
    const auto found = std::find_if(lines.rbegin(), lines.rend(), [&](const std::string& line) {
        return line.find(mark) != std::string::npos;
    });
    if (found == lines.rend()) return std::nullopt;
    return cut(trimmed(std::string_view(*found).substr(found->find(mark) + 2)), max_exception);
}

EndedBy ended_by(std::string_view log) {
    const auto has = [log](std::string_view text) { return log.find(text) != std::string_view::npos; };
    if (has("[SignalInfo: *** SIGTERM ")) return EndedBy::sigterm;
    if (has("*** An error occurred in Socket closed\n")) return EndedBy::lost_connection;
    return EndedBy::itself;
}

}  // namespace dtrain::launch
