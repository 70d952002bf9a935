// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what was written comes back; nothing else is taken for it. JSON texts with a right checksum get
// that from an own CRC-32 (tests/protocol/test_event.cpp checks the tested one), and nlohmann's strict writer
// says what is UTF-8.
#include <algorithm>
#include <map>

#include <climits>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.hpp>

#include "protocol/assignment.hpp"
#include "protocol/checked_line.hpp"
#include "protocol/event.hpp"
#include "support/fuzz.hpp"

namespace dtrain::cluster {

/// What a failed property prints.
static std::string as_literal(const Event& event) {
    return tests::as_literal(
        std::vector<std::string>{event.host, event.cpus, event.text, to_sentence(event)});
}

namespace {

using tests::Corpus;
using tests::for_all;
using tests::is_helpful;
using tests::Mutator;

const std::vector<Event> some_events{
    {.kind = Event::Kind::started,
     .rank = 1,
     .host = "node7",
     .pid = 4711,
     .time_us = 1700000000123456,
     .cpus = "0-3"},
    {.kind = Event::Kind::exited,
     .rank = 3,
     .host = "node7",
     .pid = 4712,
     .code = 7,
     .time_us = 1700000000123457},
    {.kind = Event::Kind::stopped, .rank = 12, .host = "n", .pid = 1, .signal = 15, .time_us = 5},
    {.kind = Event::Kind::issue, .host = "Größe", .text = "cannot execute \"x\"\n: no such file \x01"}};

std::map<std::string, Event> lines_of_events() {
    std::map<std::string, Event> out;
    for (const auto& event : some_events) out.emplace(encode(event), event);
    return out;
}

bool is_utf8(const std::string& text) {
    try {
        static_cast<void>(nlohmann::json(text).dump());
        return true;
    } catch (const nlohmann::json::exception&) {
        return false;
    }
}

std::string printable(std::string text) {
    std::erase_if(text, [](char c) { return c < ' ' || c == '\x7f' || c == '"' || c == '\\'; });
    return text;
}

std::uint32_t crc32(std::string_view bytes) {
    std::uint32_t crc = 0xFFFFFFFF;
    for (const char byte : bytes)
        for (int bit = 0; bit < 8; ++bit) {
            const bool odd = ((crc ^ (static_cast<unsigned char>(byte) >> bit)) & 1) != 0;
            crc = crc >> 1 ^ (odd ? 0xEDB88320U : 0U);
        }
    return ~crc;
}

TEST(EventProperties, NoTornOrAlteredLineIsAnotherEvent) {
    const auto lines = lines_of_events();
    Corpus corpus{.pieces = {"\x1e", "{", "}", "\"kind\":", "\"done\"", "\"rank\":", "00000000 ", ","}};
    for (const auto& [line, event] : lines) {
        corpus.examples.push_back(line);
        corpus.pieces.push_back(line.substr(0, 10));
        corpus.pieces.push_back(line.substr(10));
    }
    for_all(corpus, &Mutator::text, [&](const std::string& text) {
        const auto known = lines.find(text);
        EXPECT_EQ(decode(text), known == lines.end() ? std::nullopt : std::optional(known->second));
    });
}

TEST(EventProperties, ARightChecksumAloneMakesNoEvent) {
    Corpus corpus{.pieces = {"{", "}", "[", "\"kind\":", "\"done\"", "\"rank\":", ",", ":", "\"\\ud800\"",
                             "null", "1e400"}};
    for (const auto& event : some_events) corpus.examples.push_back(encode(event).substr(10));
    for_all(corpus, &Mutator::text, [](const std::string& json) {
        const auto event = decode(fmt::format("\x1e{:08x} {}", crc32(json), json));
        if (!event) return;
        const auto parsed = nlohmann::json::parse(json);
        EXPECT_EQ(parsed.at("rank"), event->rank);
        EXPECT_EQ(parsed.at("pid"), event->pid);
        EXPECT_EQ(parsed.at("code"), event->code);
        EXPECT_EQ(parsed.at("signal"), event->signal);
        EXPECT_EQ(parsed.at("time_us"), event->time_us);
        EXPECT_EQ(parsed.at("host"), event->host);
        EXPECT_EQ(parsed.at("text"), event->text);
        EXPECT_FALSE(to_sentence(*event).empty());
    });
}

TEST(EventProperties, EveryEventComesBackFromALineThatAPipeTakesAtOnce) {
    const Corpus corpus{.examples = {"node7", "0-3,8-11", "TCP port 6170 cannot be used", "Größe 模型"},
                        .pieces = {"a", "\n", "\x1e", "\"", "\\", "ö", "🚀", "\x01"}};
    const auto any_event = [](Mutator& mutator) {
        const auto any_int = [&] {
            return mutator.one_in(3) ? std::vector{INT_MIN, -1, 0, INT_MAX}[mutator.below(4)]
                                     : static_cast<int>(mutator.below(100'000));
        };
        return Event{
            .kind = static_cast<Event::Kind>(mutator.below(6)),
            .rank = any_int(),
            .host = printable(mutator.text()),
            .pid = any_int(),
            .code = any_int(),
            .signal = any_int(),
            .time_us = mutator.one_in(5) ? INT64_MIN : static_cast<std::int64_t>(mutator.below(INT64_MAX)),
            .cpus = printable(mutator.text()),
            .text = mutator.text()};
    };
    for_all(corpus, any_event, [](const Event& event) {
        const auto line = encode(event) + "\n";
        EXPECT_LE(line.size(), static_cast<std::size_t>(PIPE_BUF));
        EXPECT_EQ(line.find('\n'), line.size() - 1);
        EXPECT_EQ(line.find(event_marker, 1), std::string::npos);
        const auto read = decode(line.substr(0, line.size() - 1));
        ASSERT_TRUE(read);
        auto expected = event;
        expected.host.resize(std::min<std::size_t>(event.host.size(), 255));
        expected.cpus.resize(std::min<std::size_t>(event.cpus.size(), 500));
        if (event.text.size() > 500 || !is_utf8(event.text)) expected.text = read->text;
        EXPECT_EQ(*read, expected);
    });
}

TEST(AssignmentProperties, AnyVariablesAreRefusedByNameOrComeBackFromTheirWrittenForm) {
    const Environment base{{"DTRAIN_CPUS", "0-3,32-35;16-19"}, {"DTRAIN_NUMA", "0;1,2"},
                           {"DTRAIN_GPUS", "0,1;2,3"},         {"DTRAIN_THREADS", "4;2"},
                           {"DTRAIN_SHARED", "0;1"},           {"DTRAIN_ADAPTER", "mlx5_0;"}};
    const Corpus corpus{.examples = {"0-3;4-7", "0;1", "4;2", "0,1;2,3", "mlx5_0;", "2*0;1", "3*0|1"},
                        .pieces = {"0", "1", "-", ",", ";", "mlx5_0", " ", "0-3", "|", "*"}};
    const auto vary = [&](Mutator& mutator) { return mutator.environment(base); };
    for_all(corpus, vary, [&](const Environment& environment) {
        try {
            const auto ranks = read_assignments(environment, 0);
            EXPECT_EQ(ranks.has_value(), environment.has("DTRAIN_CPUS"));
            if (!ranks) return;
            Environment written;
            write_assignments(written, {*ranks});
            EXPECT_EQ(read_assignments(written, 0), ranks);
            for (const auto& rank : *ranks) EXPECT_GE(rank.threads, 1);
        } catch (const UsageError& error) {
            std::vector<std::string> named;
            for (const auto& [name, value] : base) named.push_back(name);
            EXPECT_TRUE(is_helpful(error.what(), named));
        }
    });
}

}  // namespace
}  // namespace dtrain::cluster
