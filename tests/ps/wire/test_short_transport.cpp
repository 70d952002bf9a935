// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what was written is what is read, rounded as bfloat16 and float16 do it; messages that were cut or
// changed on the way are refused by MessageReader.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/half.hpp>

#include "ps/wire/message.hpp"
#include "ps/wire/short_transport.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

constexpr float infinity = std::numeric_limits<float>::infinity();

class ShortMessages : public testing::TestWithParam<WireType> {
  protected:
    ShortMessages() {
        for (auto& transport : comm::local_transports(2)) plain_.push_back(std::move(transport));
        for (const auto& transport : plain_) transports_.push_back(with_wire_type(transport, GetParam()));
    }

    float rounded(float value) const {
        return GetParam() == WireType::float16 ? static_cast<float>(float16(value))
                                               : static_cast<float>(bfloat16(value));
    }

    MessageWriter push(const std::vector<float>& dense, const std::vector<float>& rows) {
        MessageWriter writer(*transports_[0],
                             {.kind = MessageKind::push, .steps = 4, .step = -3, .request = 9});
        std::ranges::copy(dense, writer.add_dense(5, dense.size()).begin());
        const auto to = writer.add_rows(2, 3, rows.size() / 3);
        std::ranges::copy(std::vector<std::int64_t>{-1, INT64_MIN, 7}, to.ids.begin());
        std::ranges::copy(rows, to.values.begin());
        return writer;
    }

    std::vector<std::shared_ptr<comm::Transport>> plain_;
    std::vector<std::shared_ptr<comm::Transport>> transports_;
};

TEST_P(ShortMessages, HaveSizesOfTablesBehindTheirValues) {
    MessageWriter writer(*transports_[0], {.kind = MessageKind::values});
    std::ranges::fill(writer.add_values(2, 1, 2), 0.5F);
    writer.set_size(77);
    writer.add_size(3, 1'000'000, 2'000'000);  // more than the message has bytes
    writer.send(1);
    const auto message = transports_[1]->receive();
    MessageReader reader(message->content.bytes());
    const auto rows = reader.next();
    EXPECT_EQ(rows->first, 77U);
    EXPECT_THAT(rows->floats(2), ElementsAre(0.5F, 0.5F));
    const auto size = reader.next();
    EXPECT_EQ(size->table, 3U);
    EXPECT_EQ(size->first, 1'000'000U);
    EXPECT_EQ(size->count, 2'000'000U);
    EXPECT_FALSE(reader.next());
}

TEST_P(ShortMessages, AreReadAsTheyWereWrittenButRounded) {
    std::mt19937 random(1);
    std::normal_distribution<float> some(0, 10);
    for (std::size_t count = 0; count < 20; ++count) {
        std::vector<float> dense(count);
        std::vector<float> rows(3 * count);
        for (auto* values : {&dense, &rows})
            for (auto& value : *values) value = some(random);
        push(dense, rows).send(1);
        const auto message = transports_[1]->receive();
        MessageReader reader(message->content.bytes());
        EXPECT_EQ(reader.header().kind, MessageKind::push);
        EXPECT_EQ(reader.header().step, -3);
        EXPECT_EQ(reader.header().steps, 4U);
        EXPECT_EQ(reader.header().request, 9U);
        for (auto* values : {&dense, &rows})
            for (auto& value : *values) value = rounded(value);
        const auto first = reader.next();
        EXPECT_EQ(first->table, dense_parameters);
        EXPECT_EQ(first->first, 5U);
        EXPECT_TRUE(std::ranges::equal(first->floats(count), dense));
        const auto second = reader.next();
        EXPECT_EQ(second->table, 2U);
        EXPECT_THAT(second->ids(), ElementsAre(-1, INT64_MIN, 7));
        EXPECT_TRUE(std::ranges::equal(second->floats_behind_ids(3 * count), rows));
        EXPECT_FALSE(reader.next());
    }
}

TEST_P(ShortMessages, TakeHalfTheBytes) {
    push(std::vector<float>(1000, 1), std::vector<float>(3000, 1)).send(1);
    const auto message = plain_[1]->receive();
    EXPECT_EQ(message->content.size(), 32U + 32 + 2000 + 32 + 24 + 6000);
    EXPECT_THAT(message_of<MessageError>([&] { MessageReader{message->content.bytes()}; }),
                HasSubstr("a message with numbers of kind"));
}

TEST_P(ShortMessages, WhatIsFiniteStaysFiniteAndWhatIsNotIsKept) {
    MessageWriter writer(*transports_[0], {.kind = MessageKind::values});
    const std::vector<float> values{std::numeric_limits<float>::max(), -1e38F, infinity, -infinity, NAN, 0};
    std::ranges::copy(values, writer.add_values(0, 6, 1).begin());
    writer.send(1);
    const auto message = transports_[1]->receive();
    MessageReader reader(message->content.bytes());
    const auto found = reader.next()->floats(6);
    EXPECT_TRUE(std::isfinite(found[0]) && found[0] >= 65504);
    EXPECT_TRUE(std::isfinite(found[1]) && found[1] <= -65504);
    EXPECT_EQ(found[2], infinity);
    EXPECT_EQ(found[3], -infinity);
    EXPECT_TRUE(std::isnan(found[4]));
    EXPECT_EQ(found[5], 0);
}

TEST_P(ShortMessages, OtherMessagesTravelAsTheyAre) {
    MessageWriter text(*transports_[0], {.kind = MessageKind::join});
    text.add_text("some text");
    text.send(1);
    MessageWriter pull(*transports_[0], {.kind = MessageKind::pull});
    std::ranges::copy(std::vector<std::int64_t>{1, 2}, pull.ask_rows(1, 2, false).begin());
    pull.send(1);
    auto message = plain_[1]->receive();
    EXPECT_EQ(MessageReader(message->content.bytes()).text(), "some text");
    message = transports_[1]->receive();
    EXPECT_THAT(MessageReader(message->content.bytes()).next()->ids(), ElementsAre(1, 2));
}

TEST_P(ShortMessages, ThatWereCutOrChangedAreRefused) {
    std::mt19937 random(7);
    push(std::vector<float>(5, 1), std::vector<float>(9, 2)).send(1);
    const auto whole = plain_[1]->receive();
    const auto bytes = whole->content.bytes();
    for (int round = 0; round < 20'000; ++round) {
        auto content = plain_[0]->memory(bytes.size());
        content.resize(round % 2 == 0 ? random() % (bytes.size() + 1) : bytes.size());
        std::ranges::copy(bytes.first(content.size()), content.data());
        for (unsigned changes = random() % 4; changes > 0 && content.size() > 0; --changes)
            content.data()[random() % content.size()] = static_cast<std::byte>(random());
        plain_[0]->send(1, std::move(content));
        const auto message = transports_[1]->receive();
        try {
            MessageReader reader(message->content.bytes());
            while (const auto section = reader.next())
                if (section->table != dense_parameters) section->ids();
        } catch (const MessageError&) {
        }
        transports_[1]->recycle(std::move(const_cast<comm::Message&>(*message).content));
    }
}

INSTANTIATE_TEST_SUITE_P(Wire, ShortMessages, testing::Values(WireType::float16, WireType::bfloat16),
                         [](const auto& each) { return to_string(each.param); });

}  // namespace
}  // namespace dtrain::ps
