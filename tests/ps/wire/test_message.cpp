// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what was written is what is read; messages that were cut or changed are read without touching
// anything outside, or refused.
#include <algorithm>
#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/wire/message.hpp"
#include "ps/wire/message_bytes.hpp"
#include "support/fuzz.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

class Messages : public testing::Test {
  protected:
    std::vector<std::byte> sent(MessageWriter&& writer) {
        writer.send(1);
        const auto message = transports_[1]->receive();
        const auto bytes = message->content.bytes();
        return {bytes.begin(), bytes.end()};
    }

    std::vector<std::byte> push() {
        MessageWriter writer(*transports_[0], {.kind = MessageKind::push, .step = -3, .request = 9});
        std::ranges::copy(std::vector<float>{1, 2, 3}, writer.add_dense(5, 3).begin());
        const auto rows = writer.add_rows(2, 2, 3, true);
        std::ranges::copy(std::vector<std::int64_t>{-1, INT64_MIN}, rows.ids.begin());
        std::ranges::copy(std::vector<float>{1, 2, 3, 4, 5, 6}, rows.values.begin());
        writer.set_steps(4);
        writer.set_request(10);
        return sent(std::move(writer));
    }

    std::vector<std::unique_ptr<comm::Transport>> transports_ = comm::local_transports(2);
};

TEST_F(Messages, HaveWhatWasWritten) {
    const auto bytes = push();
    MessageReader reader(bytes);
    EXPECT_EQ(reader.header().kind, MessageKind::push);
    EXPECT_EQ(reader.header().step, -3);
    EXPECT_EQ(reader.header().steps, 4U);
    EXPECT_EQ(reader.header().request, 10U);
    const auto first = reader.next();
    EXPECT_EQ(first->table, dense_parameters);
    EXPECT_EQ(first->first, 5U);
    EXPECT_THAT(first->floats(3), ElementsAre(1, 2, 3));
    const auto second = reader.next();
    EXPECT_EQ(second->table, 2U);
    EXPECT_TRUE(second->has_each_id_once);
    EXPECT_FALSE(second->reads_only);
    EXPECT_THAT(second->ids(), ElementsAre(-1, INT64_MIN));
    EXPECT_THAT(second->floats_behind_ids(6), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_FALSE(reader.next());
}

TEST_F(Messages, AskForRowsAndTellTexts) {
    MessageWriter pull(*transports_[0], {.kind = MessageKind::pull});
    pull.ask_dense(1, 2);
    pull.ask_rows(0, 1, true)[0] = 7;
    const auto pulled = sent(std::move(pull));
    MessageReader reader(pulled);
    EXPECT_EQ(reader.next()->count, 2U);
    const auto rows = reader.next();
    EXPECT_TRUE(rows->reads_only);
    EXPECT_FALSE(rows->has_each_id_once);
    EXPECT_THAT(rows->ids(), ElementsAre(7));
    MessageWriter join(*transports_[0], {.kind = MessageKind::join});
    join.add_text("a b c");
    EXPECT_EQ(MessageReader(sent(std::move(join))).text(), "a b c");
}

TEST_F(Messages, AreRefusedWhenTheyAreNotOurs) {
    const auto refusal = [](std::vector<std::byte> bytes, std::size_t at, std::uint8_t value) {
        bytes.at(at) = std::byte{value};
        return message_of<MessageError>([&] { MessageReader{bytes}; });
    };
    const auto bytes = push();
    EXPECT_EQ(message_of<MessageError>([] { MessageReader{{}}; }), "a message of 0 bytes");
    EXPECT_THAT(refusal(bytes, 0, 0), HasSubstr("a message that begins with 64745000, expected 64745053"));
    EXPECT_EQ(refusal(bytes, 4, 77),
              "a message of protocol 77, expected 5: trainers and servers must be of one version of dtrain");
    EXPECT_EQ(refusal(bytes, 6, 200), "a message of kind 200");
}

TEST_F(Messages, SaySectionsThatDoNotFit) {
    const auto bytes = push();
    MessageReader reader(bytes);
    const auto section = reader.next();
    EXPECT_EQ(message_of<MessageError>([&] { (void)section->floats(9); }), "a section of 3 has 16 bytes");
    EXPECT_EQ(message_of<MessageError>([&] { (void)section->ids(); }), "a section of 3 has 16 bytes");
    EXPECT_EQ(message_of<MessageError>([&] { (void)section->floats(SIZE_MAX / 2); }),
              "a section of 3 has 16 bytes");
}

TEST_F(Messages, HaveSectionsOfWholeWords) {
    auto bytes = push();
    const std::uint64_t three_floats = 12;
    std::memcpy(bytes.data() + sizeof(HeaderBytes) + offsetof(SectionBytes, payload), &three_floats,
                sizeof(three_floats));
    MessageReader reader(bytes);
    EXPECT_THAT(message_of<MessageError>([&] { (void)reader.next(); }),
                HasSubstr("a section of 12 bytes of "));
}

/// Reads all there is, of whatever sizes it says. False when the message is refused before its end; what one
/// section does not have is refused by itself.
bool is_read_to_its_end(std::span<const std::byte> bytes) {
    const auto give = [&](const auto& read) {
        try {
            const auto part = std::as_bytes(read());
            if (part.empty()) return;
            EXPECT_GE(part.data(), bytes.data());
            EXPECT_LE(part.data() + part.size(), bytes.data() + bytes.size());
        } catch (const MessageError&) {
        }
    };
    try {
        MessageReader reader(bytes);
        give([&] { return std::span(reader.text()); });
        while (const auto section = reader.next()) {
            give([&] { return section->payload; });
            give([&] { return section->ids(); });
            give([&] { return section->floats(section->count); });
            give([&] { return section->floats_behind_ids(section->ids().size() * 3); });
        }
        return true;
    } catch (const MessageError&) {
        return false;
    }
}

TEST_F(Messages, OfAnyBytesAreReadOrRefused) {
    MessageWriter writer(*transports_[0], {.kind = MessageKind::push});
    std::vector<std::size_t> ends_of_parts{writer.size()};
    writer.add_dense(5, 3);
    ends_of_parts.push_back(writer.size());
    const auto whole = push();
    std::vector<std::size_t> read;
    for (std::size_t length = 0; length < whole.size(); ++length) {
        // Exactly so long, so that a sanitizer sees a byte too many.
        const std::vector<std::byte> cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
        if (is_read_to_its_end(cut)) read.push_back(length);
    }
    EXPECT_EQ(read, ends_of_parts);
    EXPECT_TRUE(is_read_to_its_end(whole));
    std::mt19937_64 random(5);
    const auto rounds = std::max<std::uint64_t>(20'000, tests::rounds());
    std::uint64_t refused = 0;
    for (std::uint64_t round = 0; round < rounds && !HasFailure(); ++round) {
        auto changed = whole;
        for (auto changes = random() % 4 + 1; changes > 0; --changes)
            changed[random() % changed.size()] = static_cast<std::byte>(random());
        if (!is_read_to_its_end(changed)) ++refused;
    }
    EXPECT_GT(refused, rounds / 100);
    EXPECT_LT(refused, rounds);
}

}  // namespace
}  // namespace dtrain::ps
