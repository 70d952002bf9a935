// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the protocol's promises. Both sides agree on two fresh stream keys exactly when both have the same
// key and every byte arrived as it was sent; no side trusts what was recorded from an earlier conversation.
#include <sodium.h>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "keys.hpp"
#include "transport/handshake.hpp"

namespace dtrain::transport {
namespace {

TEST(Handshake, BothSidesAgreeOnFreshKeys) {
    AgentHandshake agent(key);
    CoordinatorHandshake coordinator(key);
    coordinator.finish(agent.third(coordinator.second(agent.first())));
    EXPECT_EQ(agent.keys().to_coordinator, coordinator.keys().to_coordinator);
    EXPECT_EQ(agent.keys().to_agent, coordinator.keys().to_agent);
    EXPECT_NE(coordinator.keys().to_coordinator, coordinator.keys().to_agent);

    AgentHandshake again(key);
    CoordinatorHandshake coordinator_again(key);
    coordinator_again.finish(again.third(coordinator_again.second(again.first())));
    EXPECT_NE(coordinator_again.keys().to_coordinator, coordinator.keys().to_coordinator);
}

TEST(Handshake, CoordinatorNoticesAnotherKeyInTheFirstMessage) {
    EXPECT_THROW(CoordinatorHandshake(key).second(AgentHandshake(other).first()), WrongKey);
}

TEST(Handshake, AgentNoticesACoordinatorWithoutTheKey) {
    AgentHandshake agent(key);
    EXPECT_THROW(agent.third(other_key_answer), WrongKey);

    // A coordinator that skips its own check still cannot prove anything.
    AgentHandshake of_other(other);
    const auto proof_with_other_key = CoordinatorHandshake(other).second(of_other.first());
    EXPECT_THROW(AgentHandshake(key).third(proof_with_other_key), WrongKey);
}

TEST(Handshake, RecordedConversationOpensNothing) {
    AgentHandshake agent(key);
    CoordinatorHandshake coordinator(key);
    const auto first = agent.first();
    const auto second = coordinator.second(first);
    const auto third = agent.third(second);
    coordinator.finish(third);

    CoordinatorHandshake later(key);
    EXPECT_NE(later.second(first), second);
    EXPECT_THROW(later.finish(third), WrongKey);

    AgentHandshake later_agent(key);
    EXPECT_THROW(later_agent.third(second), WrongKey);
}

TEST(Handshake, WhoRepeatsTheCoordinatorsProofHasNotTheKey) {
    AgentHandshake recorded(key);
    CoordinatorHandshake coordinator(key);
    const auto second = coordinator.second(recorded.first());
    EXPECT_THROW(coordinator.finish(second.substr(second.size() - 32)), WrongKey);
}

// Forward secrecy: keyed BLAKE2b of all that went over the wire, which who learns the key later can compute.
TEST(Handshake, TheKeyAndARecordingDoNotGiveTheStreamKeys) {
    AgentHandshake agent(key);
    CoordinatorHandshake coordinator(key);
    const auto second = coordinator.second(agent.first());
    const auto transcript = agent.first() + second.substr(0, second.size() - 32);
    agent.third(second);
    for (const auto& [purpose, stream_key] :
         {std::pair<std::string, StreamKey>{"to head", agent.keys().to_coordinator},
          {"to follower", agent.keys().to_agent}}) {
        const auto input = purpose + std::string(1, '\0') + transcript;
        StreamKey computed{};
        ::crypto_generichash(computed.data(), computed.size(),
                             reinterpret_cast<const unsigned char*>(input.data()), input.size(), key.data(),
                             key_bytes);
        EXPECT_NE(computed, stream_key) << purpose;
    }
}

TEST(Handshake, ThirdMessageBeforeTheFirstIsRefused) {
    CoordinatorHandshake coordinator(key);
    EXPECT_THROW(coordinator.finish(""), WrongKey);
}

TEST(Handshake, AnyChangedByteIsNoticed) {
    AgentHandshake agent(key);
    for (std::size_t at = 0; at < agent.first().size(); ++at) {
        auto first = agent.first();
        first[at] = static_cast<char>(first[at] ^ 0x10);
        EXPECT_THROW(CoordinatorHandshake(key).second(first), LinkError) << "byte " << at;
    }
    const auto length = CoordinatorHandshake(key).second(agent.first()).size();
    for (std::size_t at = 0; at < length; ++at) {
        AgentHandshake fresh(key);
        auto second = CoordinatorHandshake(key).second(fresh.first());
        second[at] = static_cast<char>(second[at] ^ 0x10);
        EXPECT_THROW(fresh.third(second), LinkError) << "byte " << at;
    }
    for (std::size_t at = 0; at < 32; ++at) {
        AgentHandshake fresh(key);
        CoordinatorHandshake coordinator(key);
        auto third = fresh.third(coordinator.second(fresh.first()));
        third[at] = static_cast<char>(third[at] ^ 0x10);
        EXPECT_THROW(coordinator.finish(third), WrongKey) << "byte " << at;
    }
}

TEST(Handshake, OtherProgramsAndVersionsAreToldApart) {
    const auto answer_to = [](const std::string& first) -> std::string {
        try {
            return CoordinatorHandshake(key).second(first);
        } catch (const LinkError& error) {
            return error.what();
        }
    };
    EXPECT_EQ(answer_to("GET / HTTP/1.1"), "this is no launcher");
    EXPECT_EQ(answer_to(""), "this is no launcher");
    EXPECT_EQ(answer_to("dtrain-link/2\n" + std::string(96, 'x')), "this launcher speaks another version");
    EXPECT_EQ(answer_to(AgentHandshake(key).first() + "x"), "this launcher speaks another version");
}

}  // namespace
}  // namespace dtrain::transport
