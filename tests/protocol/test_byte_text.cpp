// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: all bytes, which come back, also out of an event; UTF-8 of the Latin-1 characters.
#include <gtest/gtest.h>

#include "protocol/byte_text.hpp"
#include "protocol/event.hpp"

namespace dtrain::cluster {
namespace {

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

}  // namespace
}  // namespace dtrain::cluster
