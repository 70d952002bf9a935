// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what goes in at one end comes out at the other, unchanged and in order, or the channel says that it
// is broken; an end without the key gets nothing out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "keys.hpp"
#include "support/fuzz.hpp"
#include "support/message_of.hpp"
#include "transport/channel.hpp"

namespace dtrain::transport {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Pair {
    Channel agent{Channel::Side::agent, key};
    Channel coordinator{Channel::Side::coordinator, key};

    /// Carries bytes until neither side has any; everything that went over the wire.
    std::string settle() {
        std::string wire;
        for (;;) {
            const auto to_coordinator = agent.take_output();
            const auto to_agent = coordinator.take_output();
            if (to_coordinator.empty() && to_agent.empty()) return wire;
            wire += to_coordinator + to_agent;
            coordinator.take(to_coordinator);
            agent.take(to_agent);
        }
    }
};

TEST(Channel, OpensAndCarriesMessagesBothWays) {
    Pair pair;
    EXPECT_FALSE(pair.agent.open());
    pair.settle();
    ASSERT_TRUE(pair.agent.open());
    ASSERT_TRUE(pair.coordinator.open());
    pair.agent.send("first");
    pair.agent.send("");
    pair.coordinator.send(std::string(max_message, 'y'));
    pair.settle();
    EXPECT_EQ(pair.coordinator.next(), "first");
    EXPECT_EQ(pair.coordinator.next(), "");
    EXPECT_EQ(pair.coordinator.next(), std::nullopt);
    EXPECT_EQ(pair.agent.next()->size(), max_message);
}

TEST(Channel, NothingIsReadableOnTheWire) {
    Pair pair;
    pair.settle();
    pair.agent.send("run the daemon");
    EXPECT_THAT(pair.settle(), Not(HasSubstr("daemon")));
}

TEST(Channel, NothingIsSentBeforeTheKeyIsProven) {
    Channel coordinator(Channel::Side::coordinator, key);
    EXPECT_THROW(coordinator.send("secret"), LinkError);
    EXPECT_EQ(coordinator.take_output(), "");
    Pair pair;
    pair.settle();
    EXPECT_THROW(pair.coordinator.send(std::string(max_message + 1, 'x')), LinkError);
}

TEST(Channel, BothSidesLearnOfAnotherKey) {
    Channel agent(Channel::Side::agent, other);
    Channel coordinator(Channel::Side::coordinator, key);
    EXPECT_THROW(coordinator.take(agent.take_output()), WrongKey);
    EXPECT_THROW(agent.take(coordinator.take_output()), WrongKey);
    EXPECT_FALSE(coordinator.open());
    EXPECT_FALSE(agent.open());
}

TEST(Channel, HandshakeFramesAreTiny) {
    Channel coordinator(Channel::Side::coordinator, key);
    const auto message = tests::message_of<LinkError>(
        [&] { coordinator.take(framed(std::string(max_handshake_message + 1, 'x'))); });
    EXPECT_EQ(message, "a message of 161 bytes where 160 are allowed");
}

TEST(Channel, ReplayedConversationOpensNothing) {
    Pair recorded;
    std::string sent_by_agent;
    for (int round = 0; round < 3; ++round) {
        const auto bytes = recorded.agent.take_output();
        sent_by_agent += bytes;
        recorded.coordinator.take(bytes);
        recorded.agent.take(recorded.coordinator.take_output());
    }
    recorded.agent.send("run");
    sent_by_agent += recorded.agent.take_output();

    Channel coordinator(Channel::Side::coordinator, key);
    EXPECT_THROW(coordinator.take(sent_by_agent), WrongKey);
    EXPECT_FALSE(coordinator.open());
    EXPECT_EQ(coordinator.next(), std::nullopt);
}

TEST(Channel, RepeatedDroppedOrSwappedMessagesAreNoticed) {
    const auto after = [](const std::vector<int>& order) {
        Pair pair;
        pair.settle();
        std::vector<std::string> frames;
        for (const char* message : {"a", "b"}) {
            pair.agent.send(message);
            frames.push_back(pair.agent.take_output());
        }
        for (const int which : order) pair.coordinator.take(frames[static_cast<std::size_t>(which)]);
    };
    EXPECT_NO_THROW(after({0, 1}));
    EXPECT_THROW(after({0, 0}), LinkError);
    EXPECT_THROW(after({1}), LinkError);
    EXPECT_THROW(after({1, 0}), LinkError);
}

TEST(ChannelProperty, NoiseOpensNothing) {
    const auto first = Channel(Channel::Side::agent, key).take_output();
    const tests::Corpus corpus{.examples = {first, first + first}, .pieces = {"dtrain-link/1\n", first}};
    tests::for_all(corpus, &tests::Mutator::text, [](const std::string& noise) {
        for (const auto side : {Channel::Side::coordinator, Channel::Side::agent}) {
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
    const auto any_bit = [](tests::Mutator& mutator) { return std::to_string(mutator.below(60 * 8)); };
    tests::for_all(corpus, any_bit, [](const std::string& bit_text) {
        const auto bit = std::stoul(bit_text);
        Pair pair;
        pair.settle();
        pair.agent.send("twenty bytes or more of text");
        auto bytes = pair.agent.take_output();
        if (bit / 8 >= bytes.size()) return;
        bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
        try {
            pair.coordinator.take(bytes);
        } catch (const LinkError&) {
        }
        EXPECT_EQ(pair.coordinator.next(), std::nullopt);
    });
}

}  // namespace
}  // namespace dtrain::transport
