// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "metrics/html.hpp"

#include <cmath>
#include <ctime>

#include <fmt/format.h>

namespace dtrain::metrics {
namespace {

constexpr double max_written_out = 1e12;

/// 1234567 -> "1,234,567".
std::string grouped(double whole) {
    auto digits = fmt::format("{:.0f}", std::abs(whole));
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), 1, ',');
    return (whole < 0 ? "-" : "") + digits;
}

}  // namespace

std::string escaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (const char character : text) switch (character) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            case '\'':
                out += "&#39;";
                break;
            default: {
                const bool is_control =
                    static_cast<unsigned char>(character) < ' ' && character != '\n' && character != '\t';
                out += is_control ? ' ' : character;
            }
        }
    return out;
}

std::string for_script(std::string json) {
    // In JSON this character occurs only in strings.
    for (auto at = json.find('<'); at != std::string::npos; at = json.find('<', at))
        json.replace(at, 1, "\\u003c");
    return json;
}

std::string number_text(double value) {
    if (!std::isfinite(value)) return "-";
    const auto size = std::abs(value);
    if (value == std::round(value) && size < max_written_out) return grouped(value);
    if (size >= 1000 && size < max_written_out) return grouped(std::round(value));
    return fmt::format("{:.4g}", value);
}

std::string duration_text(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0) return "-";
    if (seconds < 10) return fmt::format("{:.2f} s", seconds);
    if (seconds < 60) return fmt::format("{:.1f} s", seconds);
    const auto whole = static_cast<long long>(std::min(std::round(seconds), max_written_out));
    if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
    return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string moment_text(double since_1970) {
    const auto seconds = static_cast<std::time_t>(since_1970);
    std::tm moment{};
    if (::gmtime_r(&seconds, &moment) == nullptr) return "-";
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", moment.tm_year + 1900, moment.tm_mon + 1,
                       moment.tm_mday, moment.tm_hour, moment.tm_min, moment.tm_sec);
}

}  // namespace dtrain::metrics
