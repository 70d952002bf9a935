// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
#include <map>

#include <fmt/format.h>

#include <dtrain/cluster.hpp>
#include <dtrain/error.hpp>

#include "base/text.hpp"
#include "identity/host_name.hpp"

namespace dtrain::cluster {
namespace {

constexpr int max_slots = 1'000'000;

[[noreturn]] void fail(std::size_t number, std::string_view line, std::string_view why) {
    throw UsageError(
        fmt::format("hostfile line {} '{}': {}; write HOST, HOST slots=N or HOST:N", number, line, why));
}

/// The words of a line; an '=' joins the words on both sides, so "slots = 2" is one word.
std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    bool glue = false;
    bool in_word = false;
    for (const char c : line) {
        if (c == ' ' || c == '\t' || c == '\r') {
            in_word = false;
            continue;
        }
        if (!in_word && !glue && !(c == '=' && !words.empty())) words.emplace_back();
        words.back() += c;
        in_word = true;
        glue = c == '=';
    }
    return words;
}

int slots_of(std::size_t number, std::string_view line, std::string_view text) {
    const auto slots = parse_int(text);
    if (!slots || *slots < 1 || *slots > max_slots)
        fail(number, line, fmt::format("'{}' is no number of slots in 1..{}", text, max_slots));
    return *slots;
}

HostSlots parse_line(std::size_t number, std::string_view line) {
    const auto words = words_of(line);
    const auto [host, count] = split_host_and_number(words.front());
    HostSlots out{std::string(host), count ? slots_of(number, line, *count) : 1};
    if (!is_host_name(host)) fail(number, line, fmt::format("'{}' is no host name", host));
    for (std::size_t i = 1; i < words.size(); ++i) {
        const auto equals = words[i].find('=');
        const auto key = words[i].substr(0, equals);
        if (equals == std::string::npos || (key != "slots" && key != "max_slots" && key != "max-slots"))
            fail(number, line, fmt::format("'{}' is not known", words[i]));
        const int value = slots_of(number, line, std::string_view(words[i]).substr(equals + 1));
        if (key == "slots") out.slots = value;
    }
    return out;
}

}  // namespace

std::vector<HostSlots> parse_hostfile(std::string_view text) {
    std::vector<HostSlots> out;
    std::map<std::string, std::size_t> position;
    std::size_t number = 0;
    for (const auto& raw : split(text, '\n')) {
        ++number;
        const auto line = trimmed(std::string_view(raw).substr(0, raw.find('#')));
        if (line.empty()) continue;
        const auto entry = parse_line(number, line);
        const auto [found, is_new] = position.try_emplace(entry.host, out.size());
        if (is_new) {
            out.push_back(entry);
        } else {
            int& slots = out[found->second].slots;
            if (slots > max_slots - entry.slots)
                fail(number, line, fmt::format("{} has over {} slots", entry.host, max_slots));
            slots += entry.slots;
        }
    }
    return out;
}

std::string format_hostfile(const std::vector<HostSlots>& hosts) {
    std::string out;
    for (const auto& host : hosts) out += fmt::format("{} slots={}\n", host.host, host.slots);
    return out;
}

}  // namespace dtrain::cluster
