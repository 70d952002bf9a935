// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what goes in at one end comes out at the other, unchanged and in order, or the channel says that it
// is broken; an end without the key gets nothing out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keys.hpp"
#include "link/channel.hpp"
#include "support/fuzz.hpp"
#include "support/message_of.hpp"

namespace dtrain::link {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Pair {
    Channel follower{Channel::Side::follower, key};
    Channel head{Channel::Side::head, key};

    /// Carries bytes until neither side has any; everything that went over the wire.
    std::string settle() {
        std::string wire;
        for (;;) {
            const auto to_head = follower.take_output();
            const auto to_follower = head.take_output();
            if (to_head.empty() && to_follower.empty()) return wire;
            wire += to_head + to_follower;
            head.take(to_head);
            follower.take(to_follower);
        }
    }
};

TEST(Channel, OpensAndCarriesMessagesBothWays) {
    Pair pair;
    EXPECT_FALSE(pair.follower.open());
    pair.settle();
    ASSERT_TRUE(pair.follower.open());
    ASSERT_TRUE(pair.head.open());
    pair.follower.send("first");
    pair.follower.send("");
    pair.head.send(std::string(max_message, 'y'));
    pair.settle();
    EXPECT_EQ(pair.head.next(), "first");
    EXPECT_EQ(pair.head.next(), "");
    EXPECT_EQ(pair.head.next(), std::nullopt);
    EXPECT_EQ(pair.follower.next()->size(), max_message);
}

TEST(Channel, NothingIsReadableOnTheWire) {
    Pair pair;
    pair.settle();
    pair.follower.send("run the daemon");
    EXPECT_THAT(pair.settle(), Not(HasSubstr("daemon")));
}

TEST(Channel, NothingIsSentBeforeTheKeyIsProven) {
    Channel head(Channel::Side::head, key);
    EXPECT_THROW(head.send("secret"), LinkError);
    EXPECT_EQ(head.take_output(), "");
    Pair pair;
    pair.settle();
    EXPECT_THROW(pair.head.send(std::string(max_message + 1, 'x')), LinkError);
}

TEST(Channel, BothSidesLearnOfAnotherKey) {
    Channel follower(Channel::Side::follower, other);
    Channel head(Channel::Side::head, key);
    EXPECT_THROW(head.take(follower.take_output()), WrongKey);
    EXPECT_THROW(follower.take(head.take_output()), WrongKey);
    EXPECT_FALSE(head.open());
    EXPECT_FALSE(follower.open());
}

TEST(Channel, HandshakeFramesAreTiny) {
    Channel head(Channel::Side::head, key);
    const auto told =
        tests::message_of<LinkError>([&] { head.take(framed(std::string(max_handshake_message + 1, 'x'))); });
    EXPECT_EQ(told, "a message of 161 bytes where 160 are allowed");
}

TEST(Channel, ReplayedConversationOpensNothing) {
    Pair recorded;
    std::string said_by_follower;
    for (int round = 0; round < 3; ++round) {
        const auto bytes = recorded.follower.take_output();
        said_by_follower += bytes;
        recorded.head.take(bytes);
        recorded.follower.take(recorded.head.take_output());
    }
    recorded.follower.send("run");
    said_by_follower += recorded.follower.take_output();

    Channel head(Channel::Side::head, key);
    EXPECT_THROW(head.take(said_by_follower), WrongKey);
    EXPECT_FALSE(head.open());
    EXPECT_EQ(head.next(), std::nullopt);
}

TEST(Channel, RepeatedDroppedOrSwappedMessagesAreNoticed) {
    const auto after = [](const std::vector<int>& order) {
        Pair pair;
        pair.settle();
        std::vector<std::string> frames;
        for (const char* message : {"a", "b"}) {
            pair.follower.send(message);
            frames.push_back(pair.follower.take_output());
        }
        for (const int which : order) pair.head.take(frames[static_cast<std::size_t>(which)]);
    };
    EXPECT_NO_THROW(after({0, 1}));
    EXPECT_THROW(after({0, 0}), LinkError);
    EXPECT_THROW(after({1}), LinkError);
    EXPECT_THROW(after({1, 0}), LinkError);
}

TEST(ChannelProperty, NoiseOpensNothing) {
    const auto first = Channel(Channel::Side::follower, key).take_output();
    const tests::Corpus corpus{.examples = {first, first + first}, .pieces = {"dtrain-link/1\n", first}};
    tests::for_all(corpus, &tests::Mutator::text, [](const std::string& noise) {
        for (const auto side : {Channel::Side::head, Channel::Side::follower}) {
            Channel channel(side, key);
            try {
                channel.take(noise);
            } catch (const LinkError&) {
            }
            EXPECT_FALSE(channel.open());
            EXPECT_EQ(channel.next(), std::nullopt);
        }
    });
}

TEST(ChannelProperty, DamageAfterOpeningIsNoticed) {
    const tests::Corpus corpus{.examples = {"0", "17", "40"}, .pieces = {"1"}};
    const auto place = [](tests::Mutator& mutator) { return std::to_string(mutator.below(60 * 8)); };
    tests::for_all(corpus, place, [](const std::string& bit_text) {
        const auto bit = std::stoul(bit_text);
        Pair pair;
        pair.settle();
        pair.follower.send("twenty bytes or more of text");
        auto bytes = pair.follower.take_output();
        if (bit / 8 >= bytes.size()) return;
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
        try {
            pair.head.take(bytes);
        } catch (const LinkError&) {
        }
        EXPECT_EQ(pair.head.next(), std::nullopt);
    });
}

}  // namespace
}  // namespace dtrain::link
