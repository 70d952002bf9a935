// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what the writer put into the message.
#include <algorithm>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/server/push.hpp"
#include "ps/wire/sent_message.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

const ParameterShapes shapes{.dense = 4, .tables = {{.width = 2}, {.width = 1, .has_statistics = true}}};

void fill(const MessageWriter::Rows& rows, std::vector<std::int64_t> ids, std::vector<float> values) {
    std::ranges::copy(ids, rows.ids.begin());
    std::ranges::copy(values, rows.values.begin());
}

class Pushes : public testing::Test {
  protected:
    std::string refusal() {
        auto message = sent_.message();
        const MessageReader reader(message.content.bytes());
        return message_of<MessageError>([&] { push_ = parse_push(std::move(message), reader, shapes); });
    }
    void begin(std::uint32_t steps = 1) { sent_ = SentMessage(MessageKind::push, steps); }

    SentMessage sent_{MessageKind::push, 1};
    Push push_;
};

TEST_F(Pushes, AreParsedOnceAndOwnTheirNumbers) {
    std::ranges::copy(std::vector<float>{1, 2}, sent_.writer().add_dense(2, 2).begin());
    fill(sent_.writer().add_rows(0, 2, 2, true), {7, -7}, {1, 2, 3, 4});
    fill(sent_.writer().add_rows(1, 1, 3), {9}, {5, 6, 7});
    ASSERT_EQ(refusal(), "");
    const auto moved = std::move(push_);
    EXPECT_EQ(moved.message.from, 0);
    ASSERT_EQ(moved.parts.size(), 3U);
    EXPECT_EQ(std::get<DenseGradients>(moved.parts[0]).first, 2U);
    EXPECT_THAT(std::get<DenseGradients>(moved.parts[0]).values, ElementsAre(1, 2));
    const auto plain = std::get<RowGradients>(moved.parts[1]);
    EXPECT_EQ(plain.table, 0U);
    EXPECT_THAT(plain.ids, ElementsAre(7, -7));
    EXPECT_THAT(plain.rows, ElementsAre(1, 2, 3, 4));
    EXPECT_TRUE(plain.has_each_id_once);
    const auto shown = std::get<RowGradients>(moved.parts[2]);
    EXPECT_THAT(shown.rows, ElementsAre(5, 6, 7));
    EXPECT_FALSE(shown.has_each_id_once);
}

TEST_F(Pushes, EndAsManyStepsAsSchedulesCanCount) {
    begin(max_steps_of_push);
    EXPECT_EQ(refusal(), "");
    begin(max_steps_of_push + 1);
    EXPECT_EQ(refusal(), "a push that ends 1000001 steps, and at most 1000000 end with one");
}

TEST_F(Pushes, FitTheParameters) {
    sent_.writer().add_dense(3, 2);
    EXPECT_EQ(refusal(), "gradients of elements 3 to 5 of 4");
    begin();
    sent_.writer().add_dense(UINT64_MAX, 1);
    EXPECT_THAT(refusal(), HasSubstr("gradients of elements 18446744073709551615"));
    begin();
    sent_.writer().add_rows(2, 1, 1);
    EXPECT_EQ(refusal(), "table 2 of 2");
    begin();
    sent_.writer().add_rows(0, 1, 3);
    EXPECT_EQ(refusal(), "a section of 1 has 24 bytes");
}

TEST_F(Pushes, HaveCountsForStatistics) {
    for (const float wrong :
         {-1.0F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
        for (const bool of_shows : {false, true}) {
            begin();
            // The second of two rows, and no gradient has to be a count.
            fill(sent_.writer().add_rows(1, 2, 3), {1, 2},
                 {-1, 2, 0, -2, of_shows ? wrong : 1, of_shows ? 1 : wrong});
            EXPECT_THAT(refusal(), HasSubstr("which are no counts")) << wrong << of_shows;
        }
    begin();
    fill(sent_.writer().add_rows(1, 2, 3), {1, 2}, {-1, 0, 0, -2, 3, 1});
    EXPECT_EQ(refusal(), "");
}

}  // namespace
}  // namespace dtrain::ps
