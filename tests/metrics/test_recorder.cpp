// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: files read back line by line; records cut by the length that each begins with.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "base/files.hpp"
#include "base/temporary_folder.hpp"
#include "base/text.hpp"
#include "metrics/recorder.hpp"
#include "metrics/small_run.hpp"

namespace dtrain::metrics {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

class Recording : public testing::Test {
  protected:
    TemporaryFolder folder_;
    std::filesystem::path path_{folder_.path()};
    std::vector<std::string> complaints_;

    Recorder recorder(Outputs outputs) {
        return {std::move(outputs), metrics::Run{.title = "t", .began = 5, .info = {{"model", "m"}}},
                [this](const std::string& complaint) { complaints_.push_back(complaint); }};
    }
    std::string content(const char* name) { return read_file(path_ / name).value_or("none"); }
};

TEST_F(Recording, LinesAreAddedAndBeginAndEndAreMarked) {
    replace_file(path_ / "m", "before\n");
    auto recorded = recorder({.metrics = path_ / "m", .tensorboard = {}, .page = {}, .record = {}});
    recorded.add(MetricRow{"epoch", 6, 1, 1, 10, {{"train_loss", 0.5}}});
    recorded.finish("done", 2);
    const auto lines = split(content("m"), '\n');
    ASSERT_THAT(lines, SizeIs(5));
    EXPECT_EQ(lines[0], "before");
    EXPECT_EQ(lines[1], R"({"time":5.0,"seconds":0,"event":"begin","title":"t","model":"m"})");
    EXPECT_EQ(lines[2], R"({"time":6.0,"seconds":1.0,"event":"epoch","epoch":1,"step":10,"train_loss":0.5})");
    EXPECT_EQ(lines[3], R"({"time":7.0,"seconds":2.0,"event":"end","outcome":"done"})");
    EXPECT_TRUE(complaints_.empty());
}

TEST_F(Recording, TensorBoardGetsAVersionAndARecordARow) {
    std::filesystem::create_directory(path_ / "tb");
    auto recorded = recorder({.metrics = {}, .tensorboard = path_ / "tb", .page = {}, .record = {}});
    for (int step = 1; step <= 3; ++step) recorded.add(MetricRow{"step", 6, 1, 1, step, {{"loss", 0.5}}});
    recorded.finish("done", 2);
    const auto file = *std::filesystem::directory_iterator(path_ / "tb");
    EXPECT_THAT(file.path().filename().string(), HasSubstr("events.out.tfevents.0000000005."));
    const auto bytes = read_file(file.path()).value();
    int records = 0;
    for (std::size_t at = 0; at < bytes.size(); ++records) {
        std::uint64_t length = 0;
        std::memcpy(&length, bytes.data() + at, sizeof length);
        at += length + 16;
        ASSERT_LE(at, bytes.size());
    }
    EXPECT_EQ(records, 4);
}

TEST_F(Recording, ThePageIsThereFromTheBeginningAndTellsTheFailure) {
    auto recorded = recorder({.metrics = {}, .tensorboard = {}, .page = path_ / "p", .record = path_ / "r"});
    EXPECT_THAT(content("p"), HasSubstr("written after"));
    EXPECT_EQ(parse_run(content("r")).value().outcome, "running");
    recorded.finish("failed", 2, Failure{.headline = "rank 3 died", .text = ""});
    EXPECT_THAT(content("p"), HasSubstr("rank 3 died"));
    EXPECT_EQ(parse_run(content("r")).value().failure.value().headline, "rank 3 died");
}

TEST_F(Recording, WhatCannotBeWrittenAnyMoreIsSaidOnce) {
    std::filesystem::create_directory(path_ / "gone");
    auto recorded = recorder({.metrics = path_ / "gone" / "m", .tensorboard = {}, .page = {}, .record = {}});
    std::filesystem::remove_all(path_ / "gone");
    for (int step = 1; step <= 3; ++step) recorded.add(MetricRow{"step", 6, 1, 1, step, {}});
    ASSERT_THAT(complaints_, SizeIs(1));
    EXPECT_THAT(complaints_.front(), HasSubstr("gone/m"));
}

}  // namespace
}  // namespace dtrain::metrics
