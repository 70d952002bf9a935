// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: Python's strtobool and int for Paddle's options; the help texts for dtrain's own.
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "launch/options/option_table.hpp"
#include "support/refuses.hpp"

namespace dtrain::launch {
namespace {

using namespace std::chrono_literals;
using tests::refuses;

Options with(const std::string& name, const std::string& text) {
    Options options;
    assign(options, *find_option(name), text, "--" + name);
    return options;
}

/// What is printed for an option after it was given `text`.
std::string shown(const std::string& name, const std::string& text) {
    return value_text(with(name, text), *find_option(name));
}

auto refuses_value(const std::string& name, const std::string& text, const std::string& wanted) {
    return refuses("--" + name, text, wanted);
}

TEST(OptionValues, SwitchesAsStrtoboolReadsThem) {
    for (const char* yes : {"y", "yes", "t", "true", "on", "1", "True", "YES"})
        EXPECT_TRUE(with("sort_ip", yes).sort_ip) << yes;
    for (const char* no : {"n", "no", "f", "false", "off", "0", "False", "OFF"})
        EXPECT_FALSE(with("sort_ip", no).sort_ip) << no;
    for (const char* neither : {"", "2", "maybe", "tru", " 1"})
        EXPECT_THAT([&] { with("sort_ip", neither); }, refuses_value("sort_ip", neither, "true or false"));
    EXPECT_EQ(shown("sort_ip", "1"), "True");
    EXPECT_EQ(shown("sort_ip", "0"), "False");
}

TEST(OptionValues, WholeNumbersWithinTheirBounds) {
    EXPECT_EQ(with("nproc_per_node", "8").nproc_per_node, 8);
    EXPECT_EQ(with("nproc_per_node", " 8 ").nproc_per_node, 8);
    EXPECT_EQ(with("start_port", "65000").start_port, 65000);
    EXPECT_EQ(with("rank", "-1").rank, -1);
    EXPECT_EQ(with("max_restart", "0").max_restart, 0);
    for (const char* text : {"", "0", "-1", "65537", "1.5", "8x", "0x8", "99999999999999"})
        EXPECT_THAT([&] { with("nproc_per_node", text); },
                    refuses_value("nproc_per_node", text, "a whole number in 1..65536"));
    EXPECT_THAT([] { with("rank", "-2"); }, refuses_value("rank", "-2", "at least -1"));
    EXPECT_EQ(shown("nproc_per_node", "08"), "8");
}

TEST(OptionValues, Seconds) {
    EXPECT_EQ(with("grace", "2.5").grace, 2500ms);
    EXPECT_EQ(with("grace", "0").grace, 0ms);
    EXPECT_EQ(with("hang-timeout", "864000").hang_timeout, (cluster::HangLimit{240h, false}));
    EXPECT_EQ(with("hang-timeout", "auto:15").hang_timeout, (cluster::HangLimit{15s, true}));
    EXPECT_EQ(shown("hang-timeout", "auto:60"), "auto");
    for (const char* text : {"", "-1", "864001", "soon", "1s", "nan", "inf", "auto:0"})
        EXPECT_THAT([&] { with("hang-timeout", text); }, refuses_value("hang-timeout", text, "0..864000"));
    EXPECT_EQ(shown("grace", "2.50"), "2.5");
}

TEST(OptionValues, Sizes) {
    EXPECT_EQ(with("log-max-size", "4096").log_max_size, 4096U);
    EXPECT_EQ(with("log-max-size", "4K").log_max_size, 4096U);
    EXPECT_EQ(with("log-max-size", "100M").log_max_size, 100U << 20U);
    EXPECT_EQ(with("log-max-size", "2gb").log_max_size, std::uintmax_t{2} << 30U);
    EXPECT_EQ(with("log-max-size", "1TB").log_max_size, std::uintmax_t{1} << 40U);
    for (const char* text : {"", "M", "4095", "3K", "1.5G", "-1G", "1P", "1 G", "99999999999999999T"})
        EXPECT_THAT([&] { with("log-max-size", text); }, refuses_value("log-max-size", text, "at least 4K"));
}

TEST(OptionValues, Permissions) {
    EXPECT_EQ(with("log-mode", "640").log_mode, 0640);
    EXPECT_EQ(with("log-mode", "0666").log_mode, 0666);
    EXPECT_EQ(shown("log-mode", "640"), "0640");
    for (const char* text : {"", "rw", "8", "1777", "640x", "-600"})
        EXPECT_THAT([&] { with("log-mode", text); }, refuses_value("log-mode", text, "octal"));
    EXPECT_THAT([] { with("log-mode", "400"); }, refuses_value("log-mode", "400", "owner read and write"));
}

TEST(OptionValues, Choices) {
    EXPECT_EQ(with("run_mode", "ps-heter").run_mode, RunMode::heterogeneous);
    EXPECT_THAT([] { with("run_mode", "PS"); },
                refuses_value("run_mode", "PS", "collective, ps, ps-heter, rpc"));
    EXPECT_THAT([] { with("backend", "bkcl"); }, refuses_value("backend", "bkcl", "auto, nccl, gloo"));
    EXPECT_THAT([] { with("visible", ""); }, refuses_value("visible", "\"\"", "narrow, keep"));
}

TEST(OptionValues, Texts) {
    EXPECT_EQ(with("log_dir", "my logs").log_dir, "my logs");
    EXPECT_EQ(with("gpus", "").gpus, "");
    EXPECT_THAT([] { with("log_dir", std::string("a\0b", 3)); },
                refuses_value("log_dir", "zero byte", "text"));
}

TEST(OptionValues, TheSourceIsNamedAsItWasGiven) {
    Options options;
    EXPECT_THAT([&] { assign(options, *find_option("start_port"), "http", "FLAGS_START_PORT="); },
                refuses("FLAGS_START_PORT=http: "));
    EXPECT_THAT([&] { assign(options, *find_option("start_port"), "", "--start_port"); },
                refuses("--start_port \"\": "));
}

TEST(OptionValues, WhatIsNotGivenReadsNone) {
    const Options none;
    EXPECT_EQ(value_text(none, *find_option("gpus")), "None");
    EXPECT_EQ(value_text(none, *find_option("server_num")), "None");
    EXPECT_EQ(value_text(none, *find_option("servers")), "");
    EXPECT_EQ(value_text(none, *find_option("ips")), "127.0.0.1");
    EXPECT_EQ(value_text(none, *find_option("xpus")), "None") << "has no field";
}

}  // namespace
}  // namespace dtrain::launch
