// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: a request takes one answer of its own kind from its own server, which stays until all that wait for
// it have read it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/client/request_table.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using tests::message_of;

comm::MessageBytes bytes_of(std::size_t size) {
    comm::MessageBytes bytes;
    bytes.resize(size);
    return bytes;
}

class Requests : public testing::Test {
  protected:
    std::string refusal(int server, MessageKind kind, std::uint64_t request) const {
        return message_of<MessageError>([&] { table_.check(server, {.kind = kind, .request = request}); });
    }
    /// The number of bytes that come back; 0: none do.
    std::size_t returned(MessageKind kind, std::uint64_t request, std::size_t size = 64) {
        const auto unread = table_.record({.kind = kind, .request = request}, bytes_of(size));
        return unread ? unread->size() : 0;
    }

    RequestTable table_;
};

TEST_F(Requests, TakeOneAnswerOfTheirServer) {
    const auto first = table_.open(0, MessageKind::pull);
    const auto second = table_.open(1, MessageKind::pull);
    ASSERT_NE(first, second);
    EXPECT_EQ(refusal(0, MessageKind::values, first), "");
    EXPECT_EQ(refusal(1, MessageKind::values, first), "server 1 answers request 1, which it was not asked");
    EXPECT_EQ(refusal(0, MessageKind::values, 99), "server 0 answers request 99, which it was not asked");
    EXPECT_EQ(refusal(0, MessageKind::applied, first),
              "server 0 answers the 'pull' of request 1 with 'applied'");
    EXPECT_EQ(returned(MessageKind::values, first), 0U);
    EXPECT_EQ(refusal(0, MessageKind::values, first), "server 0 answers the 'pull' of request 1 twice");
    EXPECT_EQ(refusal(1, MessageKind::values, second), "");
}

TEST_F(Requests, KeepTheAnswerUntilAllHaveReadIt) {
    const auto request = table_.open(0, MessageKind::pull);
    table_.set_takers(request, 2);
    EXPECT_FALSE(table_.has_come(request));
    returned(MessageKind::values, request, 48);
    EXPECT_TRUE(table_.has_come(request));
    EXPECT_FALSE(table_.forget(request));
    EXPECT_EQ(table_.at(request).answer->size(), 48U);
    EXPECT_EQ(table_.forget(request)->size(), 48U);
    EXPECT_TRUE(table_.has_come(request)) << "nobody waits for it";
    EXPECT_FALSE(table_.forget(request));
    EXPECT_NE(refusal(0, MessageKind::values, request), "");
}

TEST_F(Requests, ThatNobodyWaitsForTakeTheirAnswerAndGo) {
    const auto request = table_.open(0, MessageKind::pull);
    EXPECT_FALSE(table_.forget(request));
    EXPECT_FALSE(table_.has_come(request));
    EXPECT_EQ(refusal(0, MessageKind::values, request), "");
    EXPECT_EQ(returned(MessageKind::values, request, 80), 80U);
    EXPECT_NE(refusal(0, MessageKind::values, request), "");
}

TEST_F(Requests, OfAPushGoWhenItIsApplied) {
    const auto request = table_.open(0, MessageKind::push);
    EXPECT_TRUE(table_.is_open(request, MessageKind::push));
    EXPECT_EQ(returned(MessageKind::applied, request), 64U);
    EXPECT_FALSE(table_.is_open(request, MessageKind::push));
}

TEST_F(Requests, OfASaveBeginBeforeTheyAreDone) {
    const auto request = table_.open(0, MessageKind::save);
    EXPECT_FALSE(table_.at(request).is_begun);
    EXPECT_EQ(returned(MessageKind::saving, request), 64U);
    EXPECT_TRUE(table_.at(request).is_begun);
    EXPECT_FALSE(table_.has_come(request));
    EXPECT_EQ(refusal(0, MessageKind::failed, request), "");
    EXPECT_EQ(returned(MessageKind::saved, request), 0U);
    EXPECT_TRUE(table_.has_come(request));
}

TEST_F(Requests, AreKnownByNumberAndKind) {
    const auto request = table_.open(0, MessageKind::save);
    EXPECT_TRUE(table_.is_open(request, MessageKind::save));
    EXPECT_FALSE(table_.is_open(request, MessageKind::pull));
    EXPECT_FALSE(table_.is_open(request + 1, MessageKind::save));
    table_.forget_all();
    EXPECT_FALSE(table_.is_open(request, MessageKind::save));
    EXPECT_GT(table_.open(0, MessageKind::save), request) << "an old answer must not fit a new request";
}

}  // namespace
}  // namespace dtrain::ps
