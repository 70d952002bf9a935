// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a message that was encoded comes back equal; one JSON text written by hand; whatever else arrives
// is a LinkError and nothing worse.
#include <gtest/gtest.h>

#include "messages_of_each_kind.hpp"
#include "support/fuzz.hpp"
#include "support/message_of.hpp"
#include "transport/messages.hpp"

namespace dtrain::transport {
namespace {

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
          R"({"is":"welcome","node":"one","nodes":2,"first_rank":0,"ranks":1,"by_ssh":false})",
          R"({"is":"stop_job","signal":0})", R"({"is":"stop_job","signal":-128})",
          R"({"is":"stop_job","signal":1000})", R"({"is":"stop_job","signal":1e30})",
          R"({"is":"stop_job","signal":15.5})", R"({"is":"stop_daemon","run":4294967297})",
          R"({"is":"job_ended","status":256,"text":""})", R"({"is":"job_ended","status":null,"text":""})"})
        EXPECT_THROW(decode(text), LinkError) << text;
    EXPECT_EQ(tests::message_of<LinkError>([] { decode(R"({"is":"format disk"})"); }),
              "a message of unknown kind \"format disk\"");
    EXPECT_EQ(tests::message_of<LinkError>([] { decode(R"({"is":"job_ended","status":256,"text":""})"); }),
              "\"status\" of a message is 256");
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
}  // namespace dtrain::transport
