// SPDX-FileCopyrightText: dtrain contributors
// SPDX-License-Identifier: Apache-2.0
//
// Oracles: the runs that the files were made of; lines written by hand.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dtrain/error.hpp>

#include "metrics/page.hpp"
#include "metrics/run_file.hpp"
#include "metrics/small_run.hpp"

namespace dtrain::metrics {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::ThrowsMessage;

std::vector<Run> runs_of(const std::string& text) {
    return runs_of_text(text, "m.jsonl");
}

constexpr auto* begin_line =
    R"({"time": 1000, "seconds": 0, "event": "begin", "title": "digits", "optimizer": "adam"})"
    "\n";

std::string row_line(const char* event, int epoch, int step, double seconds, double loss) {
    MetricRow row{event, 1000 + seconds, seconds, epoch, step, {{"loss", loss}}};
    return json_line(row);
}

TEST(RunFile, APageHoldsItsRun) {
    EXPECT_THAT(runs_of_text(page_html(small_run()), "run.html"), ElementsAre(small_run()));
}

TEST(RunFile, ARecordIsARun) {
    EXPECT_THAT(runs_of_text(run_json(small_run()), "run-record.json"), ElementsAre(small_run()));
}

TEST(RunFile, LinesAreTheRowsOfTheirRun) {
    const auto runs = runs_of(begin_line + row_line("step", 1, 5, 1, 4) + row_line("epoch", 1, 10, 2, 3) +
                              R"({"time": 1003, "seconds": 3, "event": "end", "outcome": "done"})"
                              "\n");
    ASSERT_THAT(runs, SizeIs(1));
    EXPECT_EQ(runs[0].title, "digits");
    EXPECT_EQ(runs[0].began, 1000);
    EXPECT_EQ(runs[0].seconds, 3);
    EXPECT_EQ(runs[0].outcome, "done");
    EXPECT_EQ(runs[0].failure, std::nullopt);
    EXPECT_THAT(runs[0].info, ElementsAre(Fact{"optimizer", "adam"}));
    EXPECT_THAT(runs[0].rows, ElementsAre(MetricRow{"step", 1001, 1, 1, 5, {{"loss", 4}}},
                                          MetricRow{"epoch", 1002, 2, 1, 10, {{"loss", 3}}}));
}

TEST(RunFile, NullIsNoNumberAndOtherTextsAreNoValues) {
    const auto runs = runs_of(R"({"event": "step", "time": 9, "seconds": 1, "epoch": 1, "step": 1, )"
                              R"("loss": null, "who": "me"})"
                              "\n");
    ASSERT_THAT(runs, SizeIs(1));
    ASSERT_THAT(runs[0].rows, SizeIs(1));
    EXPECT_EQ(runs[0].began, 8);
    ASSERT_THAT(runs[0].rows[0].values, SizeIs(1));
    EXPECT_TRUE(std::isnan(runs[0].rows[0].values[0].value));
}

TEST(RunFile, WhoIsStillTrainingIsRunning) {
    const auto runs = runs_of(begin_line + row_line("epoch", 1, 10, 2, 3) + R"({"time": 10)");
    ASSERT_THAT(runs, SizeIs(1));
    EXPECT_EQ(runs[0].outcome, "running");
    EXPECT_EQ(runs[0].seconds, 2);
    EXPECT_THAT(runs[0].rows, SizeIs(1));
}

TEST(RunFile, AFailureIsTold) {
    const auto runs = runs_of(
        begin_line +
        std::string(R"({"time": 9, "seconds": 3, "event": "end", "outcome": "failed", "failure": "no disk"})"
                    "\n"));
    ASSERT_THAT(runs, SizeIs(1));
    ASSERT_TRUE(runs[0].failure);
    EXPECT_EQ(runs[0].failure->headline, "no disk");
}

TEST(RunFile, ATrainingFromTheFirstEpochIsARunOfItsOwn) {
    const auto once = begin_line + row_line("epoch", 1, 10, 2, 3) + row_line("epoch", 2, 20, 4, 2);
    const auto runs = runs_of(once + once);
    ASSERT_THAT(runs, SizeIs(2));
    EXPECT_EQ(runs[0], runs[1]);
}

TEST(RunFile, ATrainingThatGoesOnBelongsToTheRunBefore) {
    const auto runs = runs_of(begin_line + row_line("epoch", 1, 10, 2, 3) + row_line("epoch", 2, 20, 4, 2) +
                              begin_line + row_line("step", 2, 15, 1, 2.5) + row_line("epoch", 2, 20, 2, 2));
    ASSERT_THAT(runs, SizeIs(1));
    EXPECT_EQ(runs[0].seconds, 6);
    ASSERT_THAT(runs[0].rows, SizeIs(4));
    EXPECT_EQ(runs[0].rows[2].seconds, 5);
    EXPECT_EQ(runs[0].rows[3].seconds, 6);
}

TEST(RunFile, WhatTellsOfNoRunIsRefused) {
    for (const auto* text :
         {"", "\n\n", "hello\n", "{\"outcome\": \"done\"}\n", "[1]\n", "\n[model]\n", "7\n",
          "{\n\"outcome\": 1}\n", "<!DOCTYPE html><title>other</title>", "{\"event\": 7}\n", "\xff\xfe"})
        EXPECT_THAT(
            [&] { runs_of(text); },
            ThrowsMessage<UsageError>(AllOf(HasSubstr("m.jsonl tells of no run"), HasSubstr("--metrics"))))
            << text;
}

TEST(RunFile, ALineThatIsNoneIsNamed) {
    for (const auto* line : {"hello", "{\"event\": \"step\"}", "{\"event\": 7}", "[]", "null",
                             R"({"event": "step", "time": 9, "seconds": "x", "epoch": 1, "step": 1})",
                             R"({"event": "step", "time": 9, "seconds": 1, "epoch": 1e300, "step": 1})",
                             R"({"event": "begin"})"})
        EXPECT_THAT([&] { runs_of(begin_line + std::string(line) + "\n"); },
                    ThrowsMessage<UsageError>(HasSubstr("m.jsonl, line 2 ")))
            << line;
}

TEST(RunFile, ADamagedPageIsNamed) {
    auto page = page_html(small_run());
    page.replace(page.find("\"outcome\":"), 10, "\"otherone\":");
    EXPECT_THAT([&] { runs_of_text(page, "run.html"); },
                ThrowsMessage<UsageError>(HasSubstr("run.html is a page of another version of dtrain")));
}

TEST(RunFile, AFileThatIsNotThereIsNamed) {
    EXPECT_THAT([] { read_runs("/nowhere/run.html"); },
                ThrowsMessage<UsageError>(HasSubstr("cannot read /nowhere/run.html")));
}

}  // namespace
}  // namespace dtrain::metrics
