// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a message that was encoded comes back equal; one JSON text written by hand; whatever else arrives
// is a LinkError and nothing worse.
#include <gtest/gtest.h>

#include "link/messages.hpp"
#include "support/fuzz.hpp"
#include "support/message_of.hpp"

namespace dtrain::link {
namespace {

std::vector<Message> one_of_each() {
    return {
        Hello{.version = "0.1.0",
              .host_name = "b",
              .node_count = 2,
              .address = "10.0.0.2",
              .wanted_node = 1,
              .nodes = {"10.0.0.1", "10.0.0.2"},
              .ranks = {{"0"}, {"1", "2"}, {}},
              .visible_gpus = "0,1,2",
              .assignments = {{"DTRAIN_CPUS", "0-3;4-7"}},
              .log_dir = "/scratch/log",
              .run_mode = "ps",
              .program = {"python3", "-u", "train.py", ""},
              .working_dir = "/home/b",
              .check = true},
        Hello{},
        Refused{"another list"},
        Welcome{.node = 1, .nodes = 2, .first_rank = 4, .ranks = 4, .members = "server 1", .by_ssh = true},
        CheckCall{.port = 40123, .nonce = "0a1b"},
        RunOn{.host = "b", .command = "orted -mca a \"b\""},
        UseSsh{},
        UseSsh{"fd00::2"},
        RunDaemon{.run = 2, .command = "orted", .job_token = "abc", .grace_ms = 10'000},
        StopDaemon{2},
        DaemonOutput{.run = 2, .to_stderr = true, .text = "no route\n"},
        DaemonEnded{.run = 2, .status = 143, .reason = "the head is gone"},
        StopJob{15},
        LastWords{.log = "workerlog.3", .line = "stopped by SIGTERM"},
        JobEnded{.status = 7, .text = "rank 3 failed"},
        Heartbeat{}};
}

TEST(Messages, ComeBackEqual) {
    for (const auto& message : one_of_each()) EXPECT_EQ(decode(encode(message)), message) << encode(message);
}

TEST(Messages, AreJson) {
    EXPECT_EQ(encode(DaemonEnded{.status = 1, .reason = "gone"}),
              R"({"is":"daemon_ended","reason":"gone","run":0,"status":1})");
}

TEST(Messages, OutputThatIsNoUtf8IsCarried) {
    const auto back = decode(encode(DaemonOutput{.text = "a\xff b"}));
    EXPECT_EQ(std::get<DaemonOutput>(back).text, "a\xef\xbf\xbd b");
}

TEST(Messages, WhatIsNoMessage) {
    for (const char* text :
         {"", "{", "[]", "7", "{}", R"({"is":7})", R"({"is":"format disk"})", R"({"is":"refused"})",
          R"({"is":"welcome","node":"one","nodes":2,"first_rank":0,"ranks":1,"by_ssh":false})"})
        EXPECT_THROW(decode(text), LinkError) << text;
    EXPECT_EQ(tests::message_of<LinkError>([] { decode(R"({"is":"format disk"})"); }),
              "a message of unknown kind \"format disk\"");
}

TEST(MessagesProperty, DamagedOnesAreMessagesOrLinkErrors) {
    tests::Corpus corpus{.pieces = {"{", "}", "\"is\"", ":", "\"hello\"", "null", "[", "]", "1e999", ","}};
    for (const auto& message : one_of_each()) corpus.examples.push_back(encode(message));
    tests::for_all(corpus, &tests::Mutator::text, [](const std::string& text) {
        try {
            const auto message = decode(text);
            EXPECT_EQ(decode(encode(message)), message);
        } catch (const LinkError&) {
        }
    });
}

}  // namespace
}  // namespace dtrain::link
