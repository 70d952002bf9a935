// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include "ps/metrics/prometheus_text.hpp"

#include <cmath>

#include <fmt/format.h>

namespace dtrain::ps {
namespace {

std::string escaped(std::string_view value) {
    std::string out;
    for (const char letter : value) {
        if (letter == '\n') {
            out += "\\n";
            continue;
        }
        if (letter == '\\' || letter == '"') out += '\\';
        out += letter;
    }
    return out;
}

// Counts up to 2^53 in whole, not as 1e+06.
std::string number(double value) {
    constexpr double most_whole = 9007199254740992;
    if (std::trunc(value) == value && std::abs(value) <= most_whole) return fmt::format("{:.0f}", value);
    return fmt::format("{}", value);
}

}  // namespace

void PrometheusText::begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

void PrometheusText::add(const Labels& labels, double value, std::string_view suffix) {
    std::string list;
    for (const auto& [name, content] : labels)
        list += fmt::format("{}{}=\"{}\"", list.empty() ? "" : ",", name, escaped(content));
    text_ += fmt::format("{}{}{{{}}} {}\n", name_, suffix, list, number(value));
}

}  // namespace dtrain::ps
