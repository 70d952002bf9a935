// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: bytes taken apart by hand after the documentation of TFRecord and of protocol buffers' encoding.
// tests/jobs/test_metrics.py lets the real TensorBoard read a file.
#include <cstdint>
#include <cstring>
#include <string>

#include <gtest/gtest.h>

#include "metrics/crc32c.hpp"
#include "metrics/event_record.hpp"

namespace dtrain::metrics {
namespace {

template <class Number>
Number number_at(const std::string& bytes, std::size_t at) {
    Number number;
    std::memcpy(&number, bytes.data() + at, sizeof number);  // this machine is little endian, as the format
    return number;
}

/// What a record holds; its length and both checksums are looked at.
std::string content_of(const std::string& record) {
    const auto length = number_at<std::uint64_t>(record, 0);
    EXPECT_EQ(record.size(), length + 16);
    EXPECT_EQ(number_at<std::uint32_t>(record, 8), masked_crc32c(record.substr(0, 8)));
    const auto content = record.substr(12, length);
    EXPECT_EQ(number_at<std::uint32_t>(record, 12 + length), masked_crc32c(content));
    return content;
}

TEST(EventRecord, BeginsAFileWithItsVersion) {
    const auto event = content_of(version_record(2.0));
    // Field 1, double 2.0; field 3, 13 characters.
    EXPECT_EQ(event, std::string("\x09\0\0\0\0\0\0\0\x40", 9) + "\x1a\x0d" + "brain.Event:2");
}

TEST(EventRecord, HasScalarsOfAStep) {
    const auto event = content_of(scalars_record(1.0, 300, {{"train_loss", 0.5}, {"x", -2}}));
    // Field 1: double 1.0; field 2: varint 300 = 0xac 0x02; field 5: summary.
    const std::string head = std::string("\x09\0\0\0\0\0\0\xf0\x3f", 9) + "\x10\xac\x02";
    // Value: field 1 tag, field 2 float 0.5 = 0x3f000000, -2 = 0xc0000000.
    const auto first = std::string("\x0a\x0a") + "train/loss" + std::string("\x15\0\0\0\x3f", 5);
    const auto second = std::string("\x0a\x01") + "x" + std::string("\x15\0\0\0\xc0", 5);
    const auto summary = std::string("\x0a\x11") + first + "\x0a\x08" + second;
    EXPECT_EQ(event, head + "\x2a" + static_cast<char>(summary.size()) + summary);
}

TEST(EventRecord, LongStepsAndTextsHaveLongNumbers) {
    const std::string name(200, 'n');
    const auto event = content_of(scalars_record(0, (std::int64_t{1} << 40) + 1, {{name, 1}}));
    // 2^40 + 1 in groups of 7 bits; the tag's 200 = 0xc8 0x01.
    EXPECT_EQ(event.substr(9, 7), std::string("\x10\x81\x80\x80\x80\x80\x20", 7));
    EXPECT_NE(event.find(std::string("\x0a\xc8\x01") + name), std::string::npos);
}

TEST(EventRecord, TagsGroupByWhatTheyWereMeasuredOn) {
    EXPECT_EQ(tag_of("train_loss"), "train/loss");
    EXPECT_EQ(tag_of("test_auc"), "test/auc");
    EXPECT_EQ(tag_of("eval_accuracy"), "eval/accuracy");
    EXPECT_EQ(tag_of("samples_per_second"), "samples_per_second");
}

TEST(EventRecord, FilesAreCalledAsTensorBoardExpects) {
    EXPECT_EQ(event_file_name(1700000000.9, "node7", 4711), "events.out.tfevents.1700000000.node7.4711.0");
}

}  // namespace
}  // namespace dtrain::metrics
