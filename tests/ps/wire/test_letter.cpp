// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: what was written is what is read; letters that were cut or changed are read without touching
// anything outside, or refused.
#include <algorithm>
#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ps/wire/letter.hpp"
#include "ps/wire/letter_bytes.hpp"
#include "support/fuzz.hpp"
#include "support/message_of.hpp"

namespace dtrain::ps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using tests::message_of;

class Letters : public testing::Test {
  protected:
    std::vector<std::byte> sent(LetterWriter&& writer) {
        writer.send(1);
        const auto letter = posts_[1]->receive();
        const auto bytes = letter->content.bytes();
        return {bytes.begin(), bytes.end()};
    }

    std::vector<std::byte> push() {
        LetterWriter writer(*posts_[0], {.kind = LetterKind::push, .step = -3, .request = 9});
        std::ranges::copy(std::vector<float>{1, 2, 3}, writer.add_dense(5, 3).begin());
        const auto rows = writer.add_rows(2, 2, 3, true);
        std::ranges::copy(std::vector<std::int64_t>{-1, INT64_MIN}, rows.ids.begin());
        std::ranges::copy(std::vector<float>{1, 2, 3, 4, 5, 6}, rows.values.begin());
        writer.set_steps(4);
        writer.set_request(10);
        return sent(std::move(writer));
    }

    std::vector<std::unique_ptr<comm::Post>> posts_ = comm::local_posts(2);
};

TEST_F(Letters, HaveWhatWasWritten) {
    const auto bytes = push();
    LetterReader reader(bytes);
    EXPECT_EQ(reader.head().kind, LetterKind::push);
    EXPECT_EQ(reader.head().step, -3);
    EXPECT_EQ(reader.head().steps, 4U);
    EXPECT_EQ(reader.head().request, 10U);
    const auto first = reader.next();
    EXPECT_EQ(first->table, dense_parameters);
    EXPECT_EQ(first->first, 5U);
    EXPECT_THAT(first->floats(3), ElementsAre(1, 2, 3));
    const auto second = reader.next();
    EXPECT_EQ(second->table, 2U);
    EXPECT_TRUE(second->has_each_id_once);
    EXPECT_FALSE(second->peeks);
    EXPECT_THAT(second->ids(), ElementsAre(-1, INT64_MIN));
    EXPECT_THAT(second->floats_behind_ids(6), ElementsAre(1, 2, 3, 4, 5, 6));
    EXPECT_FALSE(reader.next());
}

TEST_F(Letters, AskForRowsAndTellTexts) {
    LetterWriter pull(*posts_[0], {.kind = LetterKind::pull});
    pull.ask_dense(1, 2);
    pull.ask_rows(0, 1, true)[0] = 7;
    const auto pulled = sent(std::move(pull));
    LetterReader reader(pulled);
    EXPECT_EQ(reader.next()->count, 2U);
    const auto rows = reader.next();
    EXPECT_TRUE(rows->peeks);
    EXPECT_FALSE(rows->has_each_id_once);
    EXPECT_THAT(rows->ids(), ElementsAre(7));
    LetterWriter hello(*posts_[0], {.kind = LetterKind::hello});
    hello.add_text("a b c");
    EXPECT_EQ(LetterReader(sent(std::move(hello))).text(), "a b c");
}

TEST_F(Letters, AreRefusedWhenTheyAreNotOurs) {
    const auto refusal = [](std::vector<std::byte> bytes, std::size_t at, std::uint8_t value) {
        bytes.at(at) = std::byte{value};
        return message_of<LetterError>([&] { LetterReader{bytes}; });
    };
    const auto bytes = push();
    EXPECT_EQ(message_of<LetterError>([] { LetterReader{{}}; }), "a letter of 0 bytes");
    EXPECT_THAT(refusal(bytes, 0, 0), HasSubstr("a letter that begins with 64745000, expected 64745053"));
    EXPECT_EQ(refusal(bytes, 4, 77),
              "a letter of protocol 77, expected 5: trainers and servers must be of one version of dtrain");
    EXPECT_EQ(refusal(bytes, 6, 200), "a letter of kind 200");
}

TEST_F(Letters, SaySectionsThatDoNotFit) {
    const auto bytes = push();
    LetterReader reader(bytes);
    const auto section = reader.next();
    EXPECT_EQ(message_of<LetterError>([&] { (void)section->floats(9); }), "a section of 3 has 16 bytes");
    EXPECT_EQ(message_of<LetterError>([&] { (void)section->ids(); }), "a section of 3 has 16 bytes");
    EXPECT_EQ(message_of<LetterError>([&] { (void)section->floats(SIZE_MAX / 2); }),
              "a section of 3 has 16 bytes");
}

TEST_F(Letters, HaveSectionsOfWholeWords) {
    auto bytes = push();
    const std::uint64_t three_floats = 12;
    std::memcpy(bytes.data() + sizeof(HeadBytes) + offsetof(SectionBytes, payload), &three_floats,
                sizeof(three_floats));
    LetterReader reader(bytes);
    EXPECT_THAT(message_of<LetterError>([&] { (void)reader.next(); }),
                HasSubstr("a section of 12 bytes of "));
}

/// Reads all there is, of whatever sizes it says. False when the letter is refused before its end; what one
/// section does not have is refused by itself.
bool is_read_to_its_end(std::span<const std::byte> bytes) {
    const auto give = [&](const auto& read) {
        try {
            const auto part = std::as_bytes(read());
            if (part.empty()) return;
            EXPECT_GE(part.data(), bytes.data());
            EXPECT_LE(part.data() + part.size(), bytes.data() + bytes.size());
        } catch (const LetterError&) {
        }
    };
    try {
        LetterReader reader(bytes);
        give([&] { return std::span(reader.text()); });
        while (const auto section = reader.next()) {
            give([&] { return section->payload; });
            give([&] { return section->ids(); });
            give([&] { return section->floats(section->count); });
            give([&] { return section->floats_behind_ids(section->ids().size() * 3); });
        }
        return true;
    } catch (const LetterError&) {
        return false;
    }
}

TEST_F(Letters, OfAnyBytesAreReadOrRefused) {
    LetterWriter writer(*posts_[0], {.kind = LetterKind::push});
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
