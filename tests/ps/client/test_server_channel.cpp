// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a conversation of which the test writes the servers' half.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/client/channel_test.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using tests::message_of;

TEST_F(ChannelTest, AsksAllServersAndReadsInTheirOrder) {
    auto& channel = start(ServerMode::async, 2);
    // As requests are numbered from 1 on, both have answered before anybody waits.
    answer(1, {.kind = MessageKind::begun, .step = 20, .request = 2});
    answer(0, {.kind = MessageKind::begun, .step = 10, .request = 1});
    std::vector<std::int64_t> steps;
    channel.ask_all(
        {.kind = MessageKind::day, .step = 3},
        [](int server, MessageWriter& writer) { writer.add_day(static_cast<std::uint32_t>(server), false); },
        [&](int /*server*/, const MessageReader& reader) { steps.push_back(reader.header().step); });
    EXPECT_THAT(steps, ElementsAre(10, 20));
    for (const int server : {0, 1}) {
        const auto message = got(server);
        MessageReader reader(message->content.bytes());
        EXPECT_EQ(reader.header().kind, MessageKind::day);
        EXPECT_EQ(reader.header().step, 3);
        EXPECT_EQ(reader.next()->first, static_cast<std::uint64_t>(server));
    }
}

TEST_F(ChannelTest, ThrowsWhatAServerRefuses) {
    auto& channel = start(ServerMode::async, 2);
    const auto request = channel.open(1, MessageKind::pull);
    refuse(1, request, "no");
    EXPECT_EQ(message_of<ServerError>([&] { channel.wait_for(request); }), "parameter server 1: no");
}

TEST_F(ChannelTest, LeavesTheRefusalOfASaveToWhoWaitsForIt) {
    auto& channel = start(ServerMode::async, 1);
    const auto save = channel.open(0, MessageKind::save);
    refuse(0, save, "no");
    channel.progress();
    EXPECT_FALSE(channel.wait_until_begun(save));
    EXPECT_EQ(channel.wait_for(save).text(), "no");
    const auto another = channel.open(0, MessageKind::save);
    answer(0, {.kind = MessageKind::saving, .request = another});
    EXPECT_TRUE(channel.wait_until_begun(another));
    EXPECT_FALSE(channel.has_come(another));
}

TEST_F(ChannelTest, ChecksLimitsWhenAServerRefusesABatchForItsSizeAndBehindEachWait) {
    auto& channel = start(ServerMode::async, 1);
    int checks = 0;
    channel.on_wait([&] {
        ++checks;
        limits_->throw_refusal();
    });
    const auto first = channel.open(0, MessageKind::pull);
    answer(0, {.kind = MessageKind::values, .request = first});
    channel.wait_for(first);
    EXPECT_EQ(checks, 1);
    const auto second = channel.open(0, MessageKind::pull);
    refuse(0, second, "full", true);
    channel.progress();
    EXPECT_EQ(checks, 1);
    EXPECT_EQ(message_of<ServerError>([&] { channel.wait_for(second); }), "parameter server 0: full");
    EXPECT_EQ(checks, 2);
}

TEST_F(ChannelTest, TellsTheClockWhatIsAppliedAndTheLimitsWhatIsThere) {
    auto& channel = start(ServerMode::async, 2, 9);
    for (const int server : {0, 1}) clock_->note_pushed(server);
    auto applied =
        answer_of(1, {.kind = MessageKind::applied, .request = channel.open(1, MessageKind::push)});
    applied.add_size(0, 10, 0);
    send(std::move(applied));
    channel.progress();
    EXPECT_FALSE(clock_->is_applied(0));
    EXPECT_TRUE(clock_->is_applied(1));
    EXPECT_TRUE(limits_->is_passed());
}

// A message that fits no request changes nothing.
TEST_F(ChannelTest, BelievesOnlyAnswersToItsRequests) {
    auto& channel = start(ServerMode::async, 1, 9);
    clock_->note_pushed(0);
    auto foreign = answer_of(0, {.kind = MessageKind::applied, .request = 77});
    foreign.add_size(0, 10, 0);
    send(std::move(foreign));
    EXPECT_EQ(message_of<MessageError>([&] { channel.progress(); }),
              "server 0 answers request 77, which it was not asked");
    EXPECT_FALSE(clock_->is_applied(0));
    EXPECT_FALSE(limits_->is_passed());
    send_message(*transports_[1], 1, {.kind = MessageKind::values});
    EXPECT_EQ(message_of<MessageError>([&] { channel.progress(); }),
              "a message of rank 1, which is no server");
}

TEST_F(ChannelTest, NotifiesAllServersWithoutARequest) {
    auto& channel = start(ServerMode::async, 2);
    channel.notify_all(MessageKind::idle);
    for (const int server : {0, 1}) {
        EXPECT_EQ(header_got(server)->kind, MessageKind::idle);
        EXPECT_FALSE(got(server));
    }
}

}  // namespace
}  // namespace dtrain::ps
