// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what the writer put into the message, and the bytes of the answer as MessageWriter counts them.
#include <algorithm>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/server/request.hpp"
#include "ps/wire/sent_message.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

const ParameterShapes two_tables{.dense = 10, .tables = {{.width = 3}, {.width = 1U << 20U}}};

Request parsed(SentMessage& sent) {
    auto message = sent.message();
    message.from = 7;
    const MessageReader reader(message.content.bytes());
    return parse_request(std::move(message), reader, two_tables);
}

class PullRequests : public testing::Test {
  protected:
    std::string refusal() {
        return message_of<MessageError>([&] {
            request_ = parsed(sent_);
            pull_ = std::get<AskedValues>(request_.content);
        });
    }

    SentMessage sent_{MessageKind::pull};
    Request request_;
    AskedValues pull_;
};

TEST_F(PullRequests, AreParsedOnce) {
    sent_.writer().ask_dense(4, 6);
    std::ranges::copy(std::vector<std::int64_t>{5, -1}, sent_.writer().ask_rows(0, 2, true).begin());
    std::ranges::copy(std::vector<std::int64_t>{8}, sent_.writer().ask_rows(1, 1, false).begin());
    ASSERT_EQ(refusal(), "");
    ASSERT_EQ(pull_.parts.size(), 3U);
    const auto range = std::get<DenseRange>(pull_.parts[0]);
    EXPECT_EQ(range.first, 4U);
    EXPECT_EQ(range.count, 6U);
    const auto rows = std::get<AskedRows>(pull_.parts[1]);
    EXPECT_EQ(rows.table, 0U);
    EXPECT_TRUE(rows.reads_only);
    EXPECT_THAT(rows.ids, ElementsAre(5, -1));
    EXPECT_FALSE(std::get<AskedRows>(pull_.parts[2]).reads_only);
    EXPECT_THAT(std::get<AskedRows>(pull_.parts[2]).ids, ElementsAre(8));
    EXPECT_TRUE(pull_.asks_dense);
    const auto one_row = MessageWriter::bytes_of_rows(1, 1U << 20U);
    EXPECT_EQ(pull_.answer_bytes, MessageWriter::bytes_of_rows(0, 0) + 6 * sizeof(float) +
                                      MessageWriter::bytes_of_rows(2, 3) + one_row);
}

TEST_F(PullRequests, OfRowsAskForNothingDense) {
    sent_.writer().ask_rows(0, 1, false)[0] = 5;
    ASSERT_EQ(refusal(), "");
    EXPECT_FALSE(pull_.asks_dense);
}

TEST_F(PullRequests, MayAskForNothing) {
    EXPECT_EQ(refusal(), "");
    EXPECT_TRUE(pull_.parts.empty());
}

TEST_F(PullRequests, AskForWhatThereIs) {
    sent_.writer().ask_dense(4, 7);
    EXPECT_EQ(refusal(), "elements 4 and 7 more of 10");
    sent_ = SentMessage(MessageKind::pull);
    sent_.writer().ask_dense(UINT64_MAX, 1);
    EXPECT_THAT(refusal(), HasSubstr("elements 18446744073709551615 and 1 more of 10"));
    sent_ = SentMessage(MessageKind::pull);
    sent_.writer().ask_rows(2, 1, false)[0] = 5;
    EXPECT_EQ(refusal(), "table 2 of 2");
}

// 1024 rows of 4 MiB are two bytes more than two of the longest messages.
TEST_F(PullRequests, HaveAnAnswerThatCanBeSent) {
    const auto asks_for = [&](std::size_t rows) {
        sent_ = SentMessage(MessageKind::pull);
        sent_.writer().ask_rows(1, rows / 2, false);
        sent_.writer().ask_rows(1, rows - rows / 2, false);
        return refusal();
    };
    const auto most = 2 * comm::max_message_bytes / (std::size_t{4} << 20U);
    EXPECT_EQ(asks_for(most), "");
    EXPECT_THAT(asks_for(most + 1), HasSubstr("a 'values' for rank 7 has 4294967296 bytes, and one message"));
}

AskedDay day_in(SentMessage&& sent) {
    return std::get<AskedDay>(parsed(sent).content);
}

TEST(DayRequests, HaveADayAndWhetherTablesShrink) {
    for (const bool shrinks : {false, true}) {
        SentMessage sent(MessageKind::day);
        sent.writer().add_day(UINT32_MAX, shrinks);
        const auto day = day_in(std::move(sent));
        EXPECT_EQ(day.day, UINT32_MAX);
        EXPECT_EQ(day.shrinks, shrinks);
    }
    EXPECT_EQ(message_of<MessageError>([] { day_in(SentMessage(MessageKind::day)); }),
              "a 'day' without its number");
    SentMessage large(MessageKind::day);
    large.writer().ask_dense(std::uint64_t{1} << 32U, 0);
    EXPECT_EQ(message_of<MessageError>([&] { day_in(std::move(large)); }), "a 'day' without its number");
}

TEST(SaveRequests, HaveATextAndTheStepThatMustBeInIt) {
    SentMessage sent(MessageKind::save);
    sent.writer().add_text("somewhere");
    const auto request = parsed(sent);
    EXPECT_EQ(request.header.kind, MessageKind::save);
    EXPECT_EQ(std::get<AskedSave>(request.content).text, "somewhere");
    SentMessage empty(MessageKind::save);
    EXPECT_EQ(message_of<MessageError>([&] { parsed(empty); }), "a save without its text");
}

}  // namespace
}  // namespace dtrain::ps
