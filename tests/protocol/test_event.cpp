// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: two lines whose JSON and CRC-32 Python's json and zlib computed; a CRC-32 of our own that is first
// checked against the algorithm's published check value; reading back what was written.
#include <array>
#include <chrono>
#include <random>

#include <climits>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/wall_clock.hpp"
#include "protocol/checked_line.hpp"
#include "protocol/event.hpp"

namespace dtrain::cluster {
namespace {

Event sample() {
    return {.kind = Event::Kind::started,
            .rank = 1,
            .host = "node7",
            .pid = 4711,
            .time_us = 1700000000123456,
            .cpus = "0-3"};
}

/// By table, unlike the tested one.
std::uint32_t crc32_by_table(std::string_view bytes) {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
        table[i] = i;
        for (int bit = 0; bit < 8; ++bit)
            table[i] = (table[i] & 1) != 0 ? (table[i] >> 1) ^ 0xEDB88320U : table[i] >> 1;
    }
    std::uint32_t crc = 0xFFFFFFFF;
    for (const char byte : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF];
    return ~crc;
}

std::string line_with(std::string_view json) {
    return fmt::format("\x1e{:08x} {}", crc32_by_table(json), json);
}

TEST(Event, LinesAreThoseThatAnotherLibraryWrites) {
    EXPECT_EQ(encode(sample()),
              "\x1e"
              "a1491528 "
              R"({"code":0,"cpus":"0-3","host":"node7","idle_ms":0,"kind":"started","pid":4711,"rank":1,)"
              R"("signal":0,"text":"","time_us":1700000000123456})");
    EXPECT_EQ(encode({.kind = Event::Kind::port_taken,
                      .host = "node7",
                      .code = 2,
                      .time_us = 5,
                      .text = "Größe \"x\"\n\x01"}),
              "\x1e"
              "1a51f98b "
              R"({"code":2,"cpus":"","host":"node7","idle_ms":0,"kind":"port_taken","pid":0,"rank":0,)"
              R"("signal":0,"text":"Gr\u00f6\u00dfe \"x\"\n\u0001","time_us":5})");
}

TEST(Event, RoundTripOfEveryKind) {
    for (const auto kind :
         {Event::Kind::started, Event::Kind::exited, Event::Kind::stopped, Event::Kind::done,
          Event::Kind::issue, Event::Kind::port_taken, Event::Kind::warning, Event::Kind::idle,
          Event::Kind::active, Event::Kind::gpus, Event::Kind::gpu_error}) {
        const Event event{.kind = kind,
                          .rank = 9999,
                          .host = "n01-ib.cluster.example",
                          .pid = INT_MAX,
                          .code = 255,
                          .signal = 64,
                          .time_us = INT64_MAX,
                          .idle_ms = INT64_MAX,
                          .cpus = "0-3,32-35",
                          .text = "why"};
        EXPECT_EQ(decode(encode(event)), event);
    }
}

TEST(Event, RoundTripOfTexts) {
    std::string controls;
    for (char letter = 0; letter < 32; ++letter) controls += letter;
    for (const auto& text : {std::string("Größe 模型 🚀"), controls + "\x7f",
                             std::string("\x1e\x1e \\ \" / \r\n"), std::string("%s {} ${X}")}) {
        auto event = sample();
        event.text = text;
        event.host = text;
        const auto line = encode(event);
        EXPECT_EQ(decode(line), event);
        EXPECT_EQ(line.find('\n'), std::string::npos);
        EXPECT_EQ(line.find(event_marker, 1), std::string::npos);
        for (const char letter : line) EXPECT_LT(static_cast<unsigned char>(letter), 0x7F + 1);
    }
}

TEST(Event, BytesThatAreNoTextBecomeReplacementCharacters) {
    auto event = sample();
    event.text = "a\xff\xc3z";
    event.text += '\xe6';
    const auto read = decode(encode(event));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->text, "a\uFFFD\uFFFDz\uFFFD");
}

TEST(Event, LinesStayBelowWhatAPipeTakesAtOnce) {
    for (const std::string& letter : {std::string("a"), std::string("\x01"), std::string("ö"),
                                      std::string("\xff"), std::string("🚀"), std::string("\"")}) {
        auto event = sample();
        event.pid = event.code = event.signal = INT_MIN;
        event.time_us = event.idle_ms = INT64_MIN;
        event.host = std::string(253, 'h');
        for (int i = 0; i < 10000; ++i) {
            event.text += letter;
            event.cpus += i == 0 ? "0" : "," + std::to_string(2 * i);
        }
        const auto line = encode(event) + "\n";
        EXPECT_LE(line.size(), PIPE_BUF) << letter;
        const auto read = decode(encode(event));
        ASSERT_TRUE(read) << letter;
        EXPECT_EQ(read->host, event.host);
        EXPECT_EQ(read->time_us, event.time_us);
        EXPECT_GE(read->text.size(), 400U) << "the beginning of a text is kept";
    }
}

TEST(Event, CarriesTheErrorOfTheProgram) {
    const RankError error{.kind = "dtrain::UsageError", .message = "Größe \"x\"", .rank = 1, .host = "node7"};
    auto event = sample();
    event.kind = Event::Kind::exited;
    event.error = to_json(error, max_event_error);
    const auto read = decode(encode(event));
    EXPECT_EQ(read, event);
    EXPECT_EQ(error_of(read.value()), error);
    EXPECT_EQ(error_of(sample()), std::nullopt);
}

TEST(Event, AnErrorAndATextFitIntoALine) {
    for (const std::string& letter : {std::string("a"), std::string("\x01"), std::string("🚀")}) {
        auto event = sample();
        RankError error{.kind = "a::B"};
        for (int i = 0; i < 3000; ++i) {
            event.text += letter;
            error.message += letter;
        }
        event.host = std::string(253, 'h');
        event.error = to_json(error, max_event_error);
        const auto line = encode(event) + "\n";
        EXPECT_LE(line.size(), PIPE_BUF) << letter;
        const auto read = decode(encode(event));
        ASSERT_TRUE(read) << letter;
        EXPECT_EQ(error_of(*read).value().kind, "a::B");
        EXPECT_GE(read->text.size(), 200U) << "the beginning of a text is kept";
    }
}

TEST(Event, WhatIsNoErrorIsLeftOut) {
    for (const auto& wrong : {std::string("{"), std::string("[1]"), std::string("7"),
                              "{\"a\":\"" + std::string(max_event_error, 'a') + "\"}"}) {
        auto event = sample();
        event.error = wrong;
        EXPECT_EQ(decode(encode(event)), sample()) << wrong;
    }
}

TEST(Event, OneWrongByteIsNoticed) {
    const auto line = encode(sample());
    for (std::size_t at = 0; at < line.size(); ++at)
        for (int value = 0; value < 256; ++value) {
            auto torn = line;
            torn[at] = static_cast<char>(value);
            if (torn != line) {
                ASSERT_EQ(decode(torn), std::nullopt) << "byte " << at << " is " << value;
            }
        }
}

TEST(Event, TornLinesAreNoticed) {
    const auto line = encode(sample());
    for (std::size_t at = 0; at < line.size(); ++at) {
        EXPECT_EQ(decode(line.substr(0, at)), std::nullopt) << "only the first " << at << " bytes";
        if (at > 0) {
            EXPECT_EQ(decode(line.substr(at)), std::nullopt) << "without the first " << at << " bytes";
        }
        auto shorter = line;
        shorter.erase(at, 1);
        if (shorter != line) {
            EXPECT_EQ(decode(shorter), std::nullopt) << "without byte " << at;
        }
    }
    EXPECT_EQ(decode(line + "x"), std::nullopt);
    EXPECT_EQ(decode(line + line), std::nullopt);
}

TEST(Event, GarbageIsNoEvent) {
    std::mt19937 random(20240229);
    const auto line = encode(sample());
    for (int round = 0; round < 10000; ++round) {
        std::string garbage(random() % 300, '\0');
        for (char& letter : garbage) letter = static_cast<char>(random());
        // A third is only noise, a third begins like an event, a third is an event with noise in it.
        if (round % 3 == 1 && garbage.size() > 10) {
            garbage[0] = event_marker;
            for (std::size_t i = 1; i < 9; ++i) garbage[i] = "0123456789abcdef"[random() % 16];
            garbage[9] = ' ';
        } else if (round % 3 == 2) {
            auto mixed = line;
            const auto begin = random() % mixed.size();
            for (auto i = begin; i < mixed.size() && i - begin < garbage.size(); ++i)
                mixed[i] = garbage[i - begin];
            if (mixed == line) continue;
            garbage = mixed;
        }
        ASSERT_EQ(decode(garbage), std::nullopt) << "round " << round;
    }
}

TEST(Event, AWholeLineOfSomethingElseIsNoEvent) {
    ASSERT_EQ(crc32_by_table("123456789"), 0xCBF43926U);  // the check value of CRC-32/ISO-HDLC
    const std::string good =
        R"({"code":0,"cpus":"","host":"n","idle_ms":0,"kind":"done","pid":0,"rank":0,"signal":0,"text":"","time_us":5})";
    ASSERT_TRUE(decode(line_with(good)));
    for (const std::string json :
         {"", "{}", "[]", "null", "5", "\"started\"", "{\"kind\":\"done\"}", "{\"kind\":", "\xff\xfe"})
        EXPECT_EQ(decode(line_with(json)), std::nullopt) << json;
    EXPECT_EQ(decode(line_with(std::string(2000, '['))), std::nullopt);
    const auto with = [&](const std::string& from, const std::string& to) {
        auto json = good;
        json.replace(json.find(from), from.size(), to);
        return line_with(json);
    };
    EXPECT_EQ(decode(with("\"rank\":0", "\"rank\":\"0\"")), std::nullopt);
    EXPECT_EQ(decode(with("\"host\":\"n\"", "\"host\":7")), std::nullopt);
    EXPECT_EQ(decode(with("\"kind\":\"done\"", "\"kind\":4")), std::nullopt);
    EXPECT_EQ(decode(with("\"kind\":\"done\"", "\"kind\":\"finished\"")), std::nullopt);
    EXPECT_EQ(decode(with("\"pid\":0,", "")), std::nullopt);
    EXPECT_EQ(decode(with("\"idle_ms\":0,", "")), std::nullopt);
}

TEST(Event, Sentences) {
    auto event = sample();
    EXPECT_EQ(to_sentence(event), "rank 1 on node7: started, pid 4711, cores 0-3");
    event.kind = Event::Kind::exited;
    event.code = 7;
    EXPECT_EQ(to_sentence(event), "rank 1 on node7: the program ended with exit code 7");
    event.signal = 11;
    EXPECT_EQ(to_sentence(event), "rank 1 on node7: the program ended with signal SIGSEGV (11)");
    event.text = "what the machine says";
    EXPECT_EQ(to_sentence(event),
              "rank 1 on node7: the program ended with signal SIGSEGV (11); what the machine says");
    event.error = to_json({.message = "no loss"}, max_event_error);
    EXPECT_EQ(
        to_sentence(event),
        "rank 1 on node7: the program ended with signal SIGSEGV (11); what the machine says; its error: "
        "no loss");
    event.kind = Event::Kind::stopped;
    event.signal = 15;
    EXPECT_EQ(to_sentence(event), "rank 1 on node7: the program was stopped (signal SIGTERM (15))");
    event.kind = Event::Kind::done;
    EXPECT_EQ(to_sentence(event), "rank 1 on node7: done");
    event.text = "TCP port 6170 cannot be used";
    for (const auto kind :
         {Event::Kind::issue, Event::Kind::port_taken, Event::Kind::warning, Event::Kind::gpu_error}) {
        event.kind = kind;
        EXPECT_EQ(to_sentence(event), "rank 1 on node7: TCP port 6170 cannot be used");
    }
    event.kind = Event::Kind::idle;
    event.idle_ms = 30'400;
    event.text = "recv ()";
    EXPECT_EQ(to_sentence(event), "rank 1 on node7: no output and no processor time for 30 s, in recv ()");
    event.kind = Event::Kind::active;
    EXPECT_EQ(to_sentence(event), "rank 1 on node7: active again");
}

TEST(Event, NowIsTheClockOnTheWall) {
    const auto before = std::chrono::system_clock::now();
    const std::chrono::system_clock::time_point now{std::chrono::microseconds(now_us())};
    EXPECT_GE(now, std::chrono::floor<std::chrono::microseconds>(before));
    EXPECT_LE(now, std::chrono::system_clock::now());
}

}  // namespace
}  // namespace dtrain::cluster
