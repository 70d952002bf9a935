// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: sums of the sizes in answers, added up by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/client/row_limits.hpp"
#include "ps/table/table_options.hpp"
#include "ps/wire/sent_message.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::HasSubstr;
using tests::message_of;

class Limits : public testing::Test {
  protected:
    void note(int server, std::uint64_t rows, MessageKind kind = MessageKind::sized,
              std::uint32_t table = 1) {
        SentMessage sent(kind);
        sent.writer().add_size(table, rows, 0);
        const auto message = sent.message();
        limits_.note(server, MessageReader(message.content.bytes()));
    }

    RowLimits limits_{{std::nullopt, TableLimit{"clicks", 100}}, 2};
};

TEST_F(Limits, AreOfAllServersTogether) {
    EXPECT_TRUE(limits_.are_any());
    note(0, 60);
    note(1, 40);
    EXPECT_FALSE(limits_.is_passed());
    note(1, 41);
    EXPECT_TRUE(limits_.is_passed());
    note(0, 59);
    EXPECT_FALSE(limits_.is_passed());
    note(0, 1000, MessageKind::sized, 0);
    EXPECT_FALSE(limits_.is_passed()) << "that table has none";
}

TEST_F(Limits, AreComparedWithWhatAnswersTell) {
    for (const auto kind :
         {MessageKind::accept, MessageKind::values, MessageKind::applied, MessageKind::sized}) {
        note(0, 101, kind);
        EXPECT_TRUE(limits_.is_passed()) << to_string(kind);
        note(0, 0, kind);
    }
    for (const auto kind : {MessageKind::begun, MessageKind::saved, MessageKind::counted}) {
        note(0, 101, kind);
        EXPECT_FALSE(limits_.is_passed()) << to_string(kind);
    }
    SentMessage dense(MessageKind::values);
    dense.writer().ask_dense(101, 1);
    const auto message = dense.message();
    limits_.note(0, MessageReader(message.content.bytes()));
    EXPECT_FALSE(limits_.is_passed());
}

TEST_F(Limits, AreReportedOnceUntilRowsHaveGone) {
    EXPECT_FALSE(limits_.is_unreported());
    note(0, 101);
    EXPECT_TRUE(limits_.is_unreported());
    EXPECT_THAT(message_of<DictSizeError>([&] { limits_.report(); }),
                HasSubstr("table 'clicks' has rows for 101 distinct ids on all servers together, and its "
                          "dict_size is 100"));
    EXPECT_TRUE(limits_.is_reported());
    note(1, 5);
    EXPECT_FALSE(limits_.is_unreported());
    note(0, 95);
    EXPECT_FALSE(limits_.is_unreported());
    note(1, 6);
    EXPECT_TRUE(limits_.is_unreported());
}

TEST_F(Limits, OfOneServerAreItsRefusal) {
    limits_.throw_refusal();
    limits_.note_refusal({1, "full"});
    EXPECT_TRUE(limits_.has_refusal());
    EXPECT_EQ(message_of<ServerError>([&] { limits_.throw_refusal(); }), "parameter server 1: full");
    EXPECT_FALSE(limits_.has_refusal());
}

TEST(NoLimits, AreNeverPassed) {
    RowLimits none({std::nullopt}, 1);
    EXPECT_FALSE(none.are_any());
    SentMessage sent(MessageKind::sized);
    sent.writer().add_size(0, UINT64_MAX, 0);
    const auto message = sent.message();
    none.note(0, MessageReader(message.content.bytes()));
    EXPECT_FALSE(none.is_passed());
}

}  // namespace
}  // namespace dtrain::ps
