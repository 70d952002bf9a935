// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// The mailboxes of several ranks in one process, whose memory they can read or are told that they cannot.
// Oracle: each message arrives once, whole, in the order of its sender and tag.
#include <algorithm>
#include <cstring>
#include <memory>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "comm/message/mailbox.hpp"
#include "comm/node/peers.hpp"
#include "support/message_of.hpp"

namespace dtrain::comm {
namespace {

constexpr int boxes_of_test = 3;

/// Says of all ranks what this one says, or of the others something that is not so.
class SamePeers final : public Peers {
  public:
    explicit SamePeers(bool are_readable) : are_readable_(are_readable) {}
    int rank() const override { return 0; }
    int size() const override { return boxes_of_test; }

  private:
    void exchange(std::span<const std::byte> mine, std::span<std::byte> all) const override {
        for (std::size_t rank = 0; rank < boxes_of_test; ++rank)
            if (rank == 0 || are_readable_)
                std::ranges::copy(mine, all.begin() + static_cast<std::ptrdiff_t>(rank * mine.size()));
    }

    bool are_readable_;
};

class MailboxTest : public testing::TestWithParam<bool> {
  protected:
    MailboxTest() : other_memory_(SamePeers(GetParam())) {
        const auto bytes = (Mailbox::bytes_of_a_rank(boxes_of_test) + 63) / 64 * 64;
        memory_.resize(bytes * boxes_of_test + 64);
        void* begin = memory_.data();
        auto space = memory_.size();
        std::align(64, bytes * boxes_of_test, begin, space);
        std::vector<std::byte*> parts;
        for (std::size_t rank = 0; rank < boxes_of_test; ++rank)
            parts.push_back(static_cast<std::byte*>(begin) + rank * bytes);
        for (int rank = 0; rank < boxes_of_test; ++rank)
            boxes.push_back(std::make_unique<Mailbox>(rank, parts, other_memory_));
    }

    void progress() const {
        for (bool any = true; any;) {
            any = false;
            for (const auto& box : boxes) any = box->progress() || any;
        }
    }

    std::vector<std::unique_ptr<Mailbox>> boxes;

  private:
    OtherMemory other_memory_;
    std::vector<std::byte> memory_;
};

std::vector<std::byte> bytes_of(std::size_t length, int seed) {
    std::vector<std::byte> bytes(length);
    for (std::size_t i = 0; i < length; ++i)
        bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + static_cast<std::size_t>(seed) * 13);
    return bytes;
}

INSTANTIATE_TEST_SUITE_P(Mailbox, MailboxTest, testing::Bool(),
                         [](const auto& given) { return given.param ? "ReadsMemory" : "TakesPieces"; });

TEST_P(MailboxTest, BringsAMessageOfAnyLengthWhoeverComesFirst) {
    for (const std::size_t length : {0UL, 1UL, 7UL, 8UL, 8192UL, 8193UL, 70'001UL, 1'000'003UL})
        for (const bool receiver_first : {false, true})
            for (const int to : {0, 1}) {
                const auto sent = bytes_of(length, to);
                std::vector<std::byte> got(length);
                Mailbox::Handle receive = 0;
                if (receiver_first) receive = boxes[static_cast<std::size_t>(to)]->receive(0, 5, got);
                const auto send = boxes[0]->send(to, 5, sent);
                progress();
                if (!receiver_first) {
                    EXPECT_EQ(boxes[0]->is_complete(send), length <= 8192) << length;
                    receive = boxes[static_cast<std::size_t>(to)]->receive(0, 5, got);
                    progress();
                }
                ASSERT_TRUE(boxes[0]->is_complete(send)) << length;
                ASSERT_TRUE(boxes[static_cast<std::size_t>(to)]->is_complete(receive)) << length;
                boxes[0]->finish(send);
                boxes[static_cast<std::size_t>(to)]->finish(receive);
                ASSERT_EQ(got, sent);
            }
}

TEST_P(MailboxTest, ChoosesByRankAndTagAndKeepsTheOrder) {
    std::mt19937 random(3);
    struct Message {
        int from, tag;
        std::vector<std::byte> sent;
        std::vector<std::byte> got;
        Mailbox::Handle send = 0, receive = 0;
    };
    std::vector<Message> messages;
    for (int i = 0; i < 300; ++i) {
        const auto length = random() % 3 == 0 ? random() % 100'000 : random() % 300;
        messages.push_back({static_cast<int>(random() % boxes_of_test), static_cast<int>(random() % 3),
                            bytes_of(length, i), std::vector<std::byte>(length)});
    }
    // Sent in this order; received rank by rank and tag by tag, some before anything is sent.
    std::vector<std::size_t> order(messages.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        return messages[a].from * 10 + messages[a].tag > messages[b].from * 10 + messages[b].tag;
    });
    const auto receive = [&](std::size_t i) {
        auto& message = messages[i];
        message.receive = boxes[2]->receive(message.from, message.tag, message.got);
    };
    for (std::size_t i = 0; i < 100; ++i) receive(order[i]);
    for (auto& message : messages) {
        message.send = boxes[static_cast<std::size_t>(message.from)]->send(2, message.tag, message.sent);
        if (random() % 4 == 0) boxes[2]->progress();
    }
    for (std::size_t i = 100; i < order.size(); ++i) receive(order[i]);
    progress();
    for (auto& message : messages) {
        ASSERT_TRUE(boxes[static_cast<std::size_t>(message.from)]->is_complete(message.send));
        ASSERT_TRUE(boxes[2]->is_complete(message.receive));
        ASSERT_EQ(message.got, message.sent);
    }
}

TEST_P(MailboxTest, HoldsBackWhatDoesNotFit) {
    std::vector<std::vector<std::byte>> sent;
    std::vector<Mailbox::Handle> sends;
    for (int i = 0; i < 200; ++i) {
        sent.push_back(bytes_of(5000, i));
        sends.push_back(boxes[0]->send(1, 0, sent.back()));
    }
    EXPECT_TRUE(boxes[0]->is_complete(sends.front()));
    EXPECT_FALSE(boxes[0]->is_complete(sends.back()));
    progress();
    for (std::size_t i = 0; i < sent.size(); ++i) {
        std::vector<std::byte> got(5000);
        const auto receive = boxes[1]->receive(0, 0, got);
        ASSERT_TRUE(boxes[1]->is_complete(receive));
        ASSERT_EQ(got, sent[i]);
        EXPECT_TRUE(boxes[0]->is_complete(sends[i]));
    }
}

TEST_P(MailboxTest, GivesTheFirstMessageOfAnyRank) {
    EXPECT_FALSE(boxes[0]->first_arrival(any_rank));
    const auto of_two = bytes_of(50'000, 2);
    const auto of_one = bytes_of(10, 1);
    const auto long_send = boxes[2]->send(0, 4, of_two);
    progress();
    boxes[1]->send(0, 4, of_one);
    progress();
    const auto first = boxes[0]->first_arrival(any_rank);
    ASSERT_TRUE(first);
    EXPECT_EQ(first->from, 2);
    EXPECT_EQ(first->tag, 4);
    EXPECT_EQ(first->bytes, 50'000U);
    EXPECT_EQ(boxes[0]->first_arrival(1)->bytes, 10U);
    std::vector<std::byte> got(50'000);
    const auto receive = boxes[0]->receive(any_rank, 4, got);
    progress();
    ASSERT_TRUE(boxes[0]->is_complete(receive));
    EXPECT_TRUE(boxes[2]->is_complete(long_send));
    EXPECT_EQ(got, of_two);
    // Before anybody has sent.
    std::vector<std::byte> later(3);
    std::vector<std::byte> first_one(10);
    boxes[0]->receive(any_rank, 4, first_one);
    const auto waits = boxes[0]->receive(any_rank, 9, later);
    const auto sent = bytes_of(3, 9);
    boxes[1]->send(0, 9, sent);
    progress();
    EXPECT_EQ(first_one, of_one);
    ASSERT_TRUE(boxes[0]->is_complete(waits));
    EXPECT_EQ(later, sent);
}

TEST_P(MailboxTest, AnotherLengthIsAnErrorOfTheReceiver) {
    for (const std::size_t length : {10UL, 100'000UL}) {
        const auto sent = bytes_of(length, 0);
        std::vector<std::byte> got(8);
        const auto send = boxes[0]->send(1, 7, sent);
        const auto receive = boxes[1]->receive(0, 7, got);
        progress();
        ASSERT_TRUE(boxes[0]->is_complete(send));
        boxes[0]->finish(send);
        EXPECT_EQ(tests::message_of<Error>([&] { boxes[1]->finish(receive); }),
                  "receive of 8 bytes from rank 0 with tag 7: " + std::to_string(length) + " were sent");
    }
}

}  // namespace
}  // namespace dtrain::comm
