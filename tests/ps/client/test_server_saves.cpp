// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a conversation of which the test writes the servers' half.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/client/channel_test.hpp"
#include "ps/client/server_error.hpp"
#include "ps/client/server_saves.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using tests::message_of;

class Saves : public ChannelTest {
  protected:
    ServerSaves& start_saving() { return saves_.emplace(start(ServerMode::sync, 2)); }

    void send_answer(int server, MessageKind kind, std::uint64_t request, const std::string& text = "") {
        auto writer = answer_of(server, {.kind = kind, .request = request});
        writer.add_text(text);
        send(std::move(writer));
    }

    std::optional<ServerSaves> saves_;
};

TEST_F(Saves, BeginWithWhatTheServersHave) {
    auto& saves = start_saving();
    send_answer(1, MessageKind::saving, 2);
    send_answer(0, MessageKind::saving, 1);
    saves.begin(7, "somewhere");
    const auto message = got(1);
    const MessageReader reader(message->content.bytes());
    EXPECT_EQ(reader.header().kind, MessageKind::save);
    EXPECT_EQ(reader.header().step, 7);
    EXPECT_EQ(reader.text(), "somewhere");
    EXPECT_TRUE(saves.are_any());
    EXPECT_FALSE(saves.are_done());
    send_answer(1, MessageKind::saved, 2, "second");
    channel_->progress();
    EXPECT_FALSE(saves.are_done());
    send_answer(0, MessageKind::saved, 1, "first");
    channel_->progress();
    EXPECT_TRUE(saves.are_done());
    EXPECT_THAT(saves.finish(), ElementsAre("first", "second"));
    EXPECT_FALSE(saves.are_any());
}

TEST_F(Saves, ThatAServerRefusesAreWaitedForAndGone) {
    auto& saves = start_saving();
    refuse(0, 1, "no");
    send_answer(1, MessageKind::saving, 2);
    send_answer(1, MessageKind::saved, 2, "second");
    EXPECT_EQ(message_of<ServerError>([&] { saves.begin(7, "somewhere"); }), "parameter server 0: no");
    EXPECT_FALSE(saves.are_any());
    send_answer(1, MessageKind::saved, 2);
    EXPECT_EQ(message_of<MessageError>([&] { channel_->progress(); }),
              "server 1 answers request 2, which it was not asked");
}

TEST_F(Saves, ThatFailLaterNameTheFirstServer) {
    auto& saves = start_saving();
    for (const int server : {0, 1})
        send_answer(server, MessageKind::saving, static_cast<std::uint64_t>(server) + 1);
    saves.begin(7, "somewhere");
    for (const int server : {1, 0})
        refuse(server, static_cast<std::uint64_t>(server) + 1, "the disk is full");
    EXPECT_EQ(message_of<ServerError>([&] { saves.finish(); }), "parameter server 0: the disk is full");
    EXPECT_FALSE(saves.are_any());
}

}  // namespace
}  // namespace dtrain::ps
