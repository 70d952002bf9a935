// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
// Oracle: the format's definition (four bytes of length, most significant first), written out by hand; for
// streams that were made at random, the list of contents that went in.
#include <gtest/gtest.h>

#include "support/fuzz.hpp"
#include "support/message_of.hpp"
#include "transport/frames.hpp"

namespace dtrain::transport {
namespace {

using namespace std::string_literals;

TEST(Frames, LengthComesFirst) {
    EXPECT_EQ(framed("abc"), "\0\0\0\3abc"s);
    EXPECT_EQ(framed(""), "\0\0\0\0"s);
    EXPECT_EQ(framed(std::string(258, 'x')).substr(0, 5), "\0\0\1\2x"s);
}

TEST(Frames, ComeOutWhenTheyAreWhole) {
    FrameReader reader(10);
    reader.take("\0\0"s);
    EXPECT_EQ(reader.next(), std::nullopt);
    reader.take("\0\2a"s);
    EXPECT_EQ(reader.next(), std::nullopt);
    reader.take("b\0\0\0\0\0\0\0\1"s);
    EXPECT_EQ(reader.next(), "ab");
    EXPECT_EQ(reader.next(), "");
    EXPECT_EQ(reader.next(), std::nullopt);
    EXPECT_EQ(reader.waiting(), 4u);
    reader.take("c");
    EXPECT_EQ(reader.next(), "c");
    EXPECT_EQ(reader.waiting(), 0u);
}

TEST(Frames, OversizedOneIsRefusedBeforeItsContentCame) {
    FrameReader reader(10);
    reader.take("\0\0\0\13"s);
    EXPECT_EQ(tests::message_of<LinkError>([&] { reader.next(); }),
              "a message of 11 bytes where 10 are allowed");

    FrameReader of_a_web_server(160);
    of_a_web_server.take("GET / HTTP/1.1\r\n");
    EXPECT_THROW(of_a_web_server.next(), LinkError);
}

TEST(Frames, AllowedLengthGrows) {
    FrameReader reader(1);
    reader.take(framed("a") + framed("long"));
    EXPECT_EQ(reader.next(), "a");
    reader.allow(4);
    EXPECT_EQ(reader.next(), "long");
}

TEST(FramesProperty, HowAStreamIsCutDoesNotMatter) {
    const tests::Corpus corpus{.examples = {"request", "", std::string(300, 'x')}, .pieces = {"\n", "{}"}};
    const auto make = [](tests::Mutator& mutator) {
        std::vector<std::string> contents;
        std::string stream;
        for (auto count = mutator.below(6); count > 0; --count) {
            contents.push_back(mutator.text());
            stream += framed(contents.back());
        }
        std::vector<std::string> words = contents;
        for (std::size_t at = 0; at < stream.size();) {
            const auto length = 1 + mutator.below(mutator.one_in(2) ? 5 : 5000);
            words.push_back(stream.substr(at, length));
            at += length;
        }
        words.push_back(std::to_string(contents.size()));
        return words;
    };
    tests::for_all(corpus, make, [](const std::vector<std::string>& words) {
        const auto count = static_cast<std::ptrdiff_t>(std::stoul(words.back()));
        const std::vector<std::string> contents(words.begin(), words.begin() + count);
        FrameReader reader(64 * 1024 * 1024);
        std::vector<std::string> got;
        for (auto chunk = words.begin() + count; chunk != words.end() - 1; ++chunk) {
            reader.take(*chunk);
            while (auto frame = reader.next()) got.push_back(*frame);
        }
        EXPECT_EQ(got, contents);
        EXPECT_EQ(reader.waiting(), 0u);
    });
}

TEST(FramesProperty, NoiseGivesFramesOfAllowedLengthOrALinkError) {
    const tests::Corpus corpus{.examples = {framed("request") + framed("x"), "GET / HTTP/1.1\r\n"},
                               .pieces = {"\0\0\0\1"s, "\0\0"s, "\xff\xff\xff\xff", "a"}};
    tests::for_all(corpus, &tests::Mutator::text, [](const std::string& noise) {
        FrameReader reader(100);
        reader.take(noise);
        try {
            while (const auto frame = reader.next()) EXPECT_LE(frame->size(), 100u);
            EXPECT_LT(reader.waiting(), 104u);
        } catch (const LinkError&) {
        }
    });
}

}  // namespace
}  // namespace dtrain::transport
