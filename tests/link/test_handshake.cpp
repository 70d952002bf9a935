// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the protocol's promises. Both sides agree on two fresh stream keys exactly when both have the same
// key and every byte arrived as it was sent; no side trusts what was recorded from an earlier conversation.
#include <sodium.h>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "keys.hpp"
#include "link/handshake.hpp"

namespace dtrain::link {
namespace {

TEST(Handshake, BothSidesAgreeOnFreshKeys) {
    FollowerHandshake follower(key);
    HeadHandshake head(key);
    head.finish(follower.third(head.second(follower.first())));
    EXPECT_EQ(follower.keys().to_head, head.keys().to_head);
    EXPECT_EQ(follower.keys().to_follower, head.keys().to_follower);
    EXPECT_NE(head.keys().to_head, head.keys().to_follower);

    FollowerHandshake again(key);
    HeadHandshake head_again(key);
    head_again.finish(again.third(head_again.second(again.first())));
    EXPECT_NE(head_again.keys().to_head, head.keys().to_head);
}

TEST(Handshake, HeadNoticesAnotherKeyInTheFirstMessage) {
    EXPECT_THROW(HeadHandshake(key).second(FollowerHandshake(other).first()), WrongKey);
}

TEST(Handshake, FollowerNoticesAHeadWithoutTheKey) {
    FollowerHandshake follower(key);
    EXPECT_THROW(follower.third(other_key_answer), WrongKey);

    // A head that skips its own check still cannot prove anything.
    FollowerHandshake of_other(other);
    const auto proof_with_other_key = HeadHandshake(other).second(of_other.first());
    EXPECT_THROW(FollowerHandshake(key).third(proof_with_other_key), WrongKey);
}

TEST(Handshake, RecordedConversationOpensNothing) {
    FollowerHandshake follower(key);
    HeadHandshake head(key);
    const auto first = follower.first();
    const auto second = head.second(first);
    const auto third = follower.third(second);
    head.finish(third);

    HeadHandshake later(key);
    EXPECT_NE(later.second(first), second);
    EXPECT_THROW(later.finish(third), WrongKey);

    FollowerHandshake later_follower(key);
    EXPECT_THROW(later_follower.third(second), WrongKey);
}

TEST(Handshake, WhoRepeatsTheHeadsProofHasNotTheKey) {
    FollowerHandshake recorded(key);
    HeadHandshake head(key);
    const auto second = head.second(recorded.first());
    EXPECT_THROW(head.finish(second.substr(second.size() - 32)), WrongKey);
}

// Forward secrecy: keyed BLAKE2b of all that went over the wire, which who learns the key later can compute.
TEST(Handshake, TheKeyAndARecordingDoNotGiveTheStreamKeys) {
    FollowerHandshake follower(key);
    HeadHandshake head(key);
    const auto second = head.second(follower.first());
    const auto said = follower.first() + second.substr(0, second.size() - 32);
    follower.third(second);
    for (const auto& [purpose, stream_key] :
         {std::pair<std::string, StreamKey>{"to head", follower.keys().to_head},
          {"to follower", follower.keys().to_follower}}) {
        const auto input = purpose + std::string(1, '\0') + said;
        StreamKey computed{};
        ::crypto_generichash(computed.data(), computed.size(),
                             reinterpret_cast<const unsigned char*>(input.data()), input.size(), key.data(),
                             key_bytes);
        EXPECT_NE(computed, stream_key) << purpose;
    }
}

TEST(Handshake, ThirdMessageBeforeTheFirstIsRefused) {
    HeadHandshake head(key);
    EXPECT_THROW(head.finish(""), WrongKey);
}

TEST(Handshake, AnyChangedByteIsNoticed) {
    FollowerHandshake follower(key);
    for (std::size_t at = 0; at < follower.first().size(); ++at) {
        auto first = follower.first();
        first[at] = static_cast<char>(first[at] ^ 0x10);
        EXPECT_THROW(HeadHandshake(key).second(first), LinkError) << "byte " << at;
    }
    const auto length = HeadHandshake(key).second(follower.first()).size();
    for (std::size_t at = 0; at < length; ++at) {
        FollowerHandshake fresh(key);
        auto second = HeadHandshake(key).second(fresh.first());
        second[at] = static_cast<char>(second[at] ^ 0x10);
        EXPECT_THROW(fresh.third(second), LinkError) << "byte " << at;
    }
    for (std::size_t at = 0; at < 32; ++at) {
        FollowerHandshake fresh(key);
        HeadHandshake head(key);
        auto third = fresh.third(head.second(fresh.first()));
        third[at] = static_cast<char>(third[at] ^ 0x10);
        EXPECT_THROW(head.finish(third), WrongKey) << "byte " << at;
    }
}

TEST(Handshake, OtherProgramsAndVersionsAreToldApart) {
    const auto answer_to = [](const std::string& first) -> std::string {
        try {
            return HeadHandshake(key).second(first);
        } catch (const LinkError& error) {
            return error.what();
        }
    };
    EXPECT_EQ(answer_to("GET / HTTP/1.1"), "this is no launcher");
    EXPECT_EQ(answer_to(""), "this is no launcher");
    EXPECT_EQ(answer_to("dtrain-link/2\n" + std::string(96, 'x')), "this launcher speaks another version");
    EXPECT_EQ(answer_to(FollowerHandshake(key).first() + "x"), "this launcher speaks another version");
}

}  // namespace
}  // namespace dtrain::link
