// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: all bytes, which come back, also out of an event; UTF-8 of the Latin-1 characters.
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocol/byte_text.hpp"
#include "protocol/event.hpp"

namespace dtrain::cluster {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

TEST(ByteText, EachByteIsACharacter) {
    EXPECT_EQ(text_of_bytes("a\n"), "a\n");
    EXPECT_EQ(text_of_bytes("\xe9"), "\u00e9");
    EXPECT_EQ(bytes_of_text("\u0080\u00ff"), "\x80\xff");
}

TEST(ByteText, AllBytesComeBackOutOfAnEvent) {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    EXPECT_EQ(bytes_of_text(text_of_bytes(all)), all);
    const auto event = decode(encode({.kind = Event::Kind::console, .text = text_of_bytes(all)}));
    ASSERT_TRUE(event);
    EXPECT_EQ(bytes_of_text(event->text), all);
}

/// Pieces of a rank's output, each out of its event.
std::vector<std::string> shown(std::string_view bytes) {
    std::vector<std::string> pieces;
    while (!bytes.empty()) {
        const auto piece = piece_to_show(bytes);
        const auto event = decode(encode({.kind = Event::Kind::console, .text = text_of_bytes(piece)}));
        pieces.push_back(event ? bytes_of_text(event->text) : "");
        EXPECT_EQ(pieces.back(), piece);
        if (piece.empty()) break;
        bytes.remove_prefix(piece.size());
    }
    return pieces;
}

TEST(PieceToShow, IsAllThatFits) {
    EXPECT_EQ(piece_to_show(""), "");
    EXPECT_THAT(shown("one\ntwo"), ElementsAre("one\ntwo"));
}

TEST(PieceToShow, EndsWithALine) {
    const auto line = std::string(2000, 'a') + "\n";
    EXPECT_THAT(shown(line + line + "end"), ElementsAre(line, line + "end"));
}

TEST(PieceToShow, ALineThatIsTooLongIsCut) {
    const auto line = std::string(8000, 'a') + "\n";
    EXPECT_THAT(shown(line), ElementsAre(SizeIs(3400), SizeIs(3400), SizeIs(1201)));
}

TEST(PieceToShow, DoesNotEndWithinACharacter) {
    std::string letters;
    for (int i = 0; i < 1000; ++i) letters += "\u20ac";
    for (const auto& piece : shown(letters)) EXPECT_EQ(piece.size() % 3, 0U);
    EXPECT_THAT(shown(std::string(1000, '\x80')), ElementsAre(SizeIs(566), SizeIs(434)));
}

TEST(PieceToShow, WhateverTheBytesAreAnEventHoldsIt) {
    std::string all;
    for (int byte = 0; byte < 4096; ++byte) all += static_cast<char>(byte * 7);
    shown(all);
    shown(std::string(4096, '\0'));
    shown(std::string(4096, '"'));
}

}  // namespace
}  // namespace dtrain::cluster
